import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { Child } from './child.js';

const DIST = resolve(import.meta.dirname, '..', '..', '..', '..', 'dist');

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

  it('reports a program that keeps exiting, with the last error of its log', async () => {
    const child = childOf(`console.log('{"level":"error","msg":"the cellar is flooded"}'); process.exit(1);`);
    const hopeless = child.hopeless();
    child.start();
    await expect(hopeless).rejects.toThrow('starting program failed: the cellar is flooded');
    await child.stop();
  });

  it('starts a program again at once that was asked to end, however often', async () => {
    const child = childOf(
      `process.on('SIGTERM', () => process.exit(0)); process.send('up'); setInterval(() => {}, 1000);`,
    );
    let isHopeless = false;
    child.hopeless().catch(() => (isHopeless = true));
    const up = () => child.message((message) => (message === 'up' ? message : undefined), 15_000);
    let next = up();
    child.start();
    for (let times = 0; times < 4; times++) {
      await next;
      next = up();
      process.kill(child.pid ?? 0, 'SIGTERM');
    }
    await next;
    expect(isHopeless).toBe(false);
    await child.stop();
  });

  it('passes on the message of a started program', async () => {
    const child = childOf(`process.send('up'); setInterval(() => {}, 1000);`);
    const said = child.message((message) => (typeof message === 'string' ? message : undefined), 5000);
    child.start();
    expect(await said).toBe('up');
    await child.stop();
  });

  /** Says `loaded` when its modules are there, and with which WORD it began. */
  const PROGRAM = `
    import { runProgram } from '${DIST}/libs/lifecycle/src/index.js';
    import { createLogger } from '${DIST}/libs/telemetry/src/index.js';
    runProgram({ log: createLogger('program', 'silent') }, async () => process.send('began with ' + process.env.WORD));
    process.send('loaded');
  `;

  function said(child: Child, expected: RegExp): Promise<string> {
    return child.message(
      (message) => (typeof message === 'string' && expected.test(message) ? message : undefined),
      15_000,
    );
  }

  it('loads a program ahead of its start and begins it with the environment of the start', async () => {
    const child = childOf(PROGRAM);
    let hasBegun = false;
    const loaded = said(child, /loaded/);
    const began = said(child, /began/).finally(() => (hasBegun = true));
    child.load();
    await loaded;
    expect(hasBegun).toBe(false);
    child.environment = { WORD: 'go' };
    child.start();
    expect(await began).toBe('began with go');
    await child.stop();
  });

  it.each(['before', 'after'])('begins a loaded program that died %s its turn came', async (when) => {
    const child = childOf(PROGRAM);
    const loaded = said(child, /loaded/);
    child.load();
    await loaded;
    const began = said(child, /began/);
    const turn = (): void => {
      child.environment = { WORD: 'again' };
      child.start();
    };
    if (when === 'after') turn();
    process.kill(child.pid ?? 0, 'SIGKILL');
    if (when === 'before') {
      await said(child, /loaded/);
      turn();
    }
    expect(await began).toBe('began with again');
    await child.stop();
  });
});
