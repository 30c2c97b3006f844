import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Child } from './child.js';

describe('Child', () => {
  const folder = temporaryFolder();

  function childOf(script: string): Child {
    const program = join(folder, 'program.mjs');
    writeFileSync(program, script);
    return new Child({
      name: 'program',
      program,
      environment: {},
      logFile: join(folder, 'program.log'),
      stopMs: 1000,
      clock: systemClock,
      log: createLogger('test', 'silent'),
      onProcess: () => undefined,
    });
  }

  it('is called hopeless when it ends again and again, in the words of its log', async () => {
    const child = childOf(`console.log('{"level":"error","msg":"the cellar is flooded"}'); process.exit(1);`);
    const hopeless = child.hopeless();
    child.start();
    await expect(hopeless).rejects.toThrow('program does not come up: the cellar is flooded');
    await child.stop();
  });

  it('hands on what it says when it came up', async () => {
    const child = childOf(`process.send('up'); setInterval(() => {}, 1000);`);
    const said = child.message((message) => (typeof message === 'string' ? message : undefined), 5000);
    child.start();
    expect(await said).toBe('up');
    await child.stop();
  });
});
