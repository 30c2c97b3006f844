import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Preparation } from './preparation.js';

const DIST = resolve(import.meta.dirname, '..', '..', '..', '..', 'dist');

describe('Preparation', () => {
  const folder = temporaryFolder();

  function preparationBy(program: string): Preparation {
    return new Preparation({
      program,
      environment: {},
      logFile: join(folder, 'preparation.log'),
      clock: systemClock,
      onProcess: () => undefined,
    });
  }

  it('performs a task, and passes on the error of a failed one', async () => {
    const preparation = preparationBy(join(DIST, 'apps', 'platform', 'src', 'preparation', 'main.js'));
    const images = join(folder, 'images');
    expect(await preparation.run('sampleAgent', { images, installation: resolve(DIST, '..') })).toBeNull();
    expect(existsSync(images)).toBe(true);
    const failing = preparation.run('sampleAgent', { images, installation: join(folder, 'nothing') });
    await expect(failing).rejects.toThrow(join(folder, 'nothing'));
    await preparation.stop();
  });

  it('fails pending and later tasks once its process has ended', async () => {
    const program = join(folder, 'program.mjs');
    writeFileSync(program, `process.on('message', () => process.exit(3));`);
    const preparation = preparationBy(program);
    const ask = (): Promise<null> => preparation.run('sampleAgent', { images: '', installation: '' });
    await expect(ask()).rejects.toThrow('it ended with exit code 3');
    await expect(ask()).rejects.toThrow('it ended with exit code 3');
    await preparation.stop();
  });
});
