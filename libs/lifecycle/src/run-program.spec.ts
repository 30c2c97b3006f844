import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryBuild } from './testdata/repository-build.js';
import { patient, temporaryFolder } from '#lib/testing';

/** Runs a program made of `runProgram` in a process of its own; what it said and how it ended. */
function run(
  body: string,
  act: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<{ said: string; code: number | null }> {
  const script = join(folder, 'program.mjs');
  writeFileSync(
    script,
    `import { runProgram } from ${JSON.stringify(repositoryBuild('lifecycle'))};
     import { createLogger } from ${JSON.stringify(repositoryBuild('telemetry'))};
     runProgram({ log: createLogger('test', 'silent') }, async (context) => { ${body} });`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (text.includes('up')) act((signal) => child.kill(signal));
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve({ said, code })));
}

const folder = temporaryFolder();

describe('runProgram', () => {
  it('stays alive without pending work and stops its parts in reverse', async () => {
    const { said, code } = await run(
      `for (const name of ['first', 'second']) context.own({ name, stop: async () => console.log('stopped ' + name) });
       console.log('up');`,
      (kill) => setTimeout(() => kill('SIGTERM'), 300),
    );
    expect(said.trim().split('\n')).toEqual(['up', 'stopped second', 'stopped first']);
    expect(code).toBe(0);
  });

  it('ends with 1 when it cannot start, after stopping what had started', async () => {
    const { said, code } = await run(
      `context.own({ name: 'part', stop: async () => console.log('stopped') }); throw new Error('no');`,
      () => undefined,
    );
    expect([said.trim(), code]).toEqual(['stopped', 1]);
  });
});

/**
 * A program that ends while V8 compiles its functions beside it, for which there is next to no room in its heap: it has
 * kept a few MB, which differ with the rounds.
 */
const FULL_PROGRAM = `
  const { endProcess } = await import(process.env.MODULE);
  setFlagsFromString('--no-incremental-marking');
  const bodies = Array.from({ length: 500 }, (_, n) =>
    'let s = ' + n + '; for (let i = 0; i < 3; i++) { s += a * i + ' + n + '; if (s > 1e9) s -= 1; } return [s, a, { s }];');
  const functions = bodies.map((body) => new Function('a', body));
  const kept = [];
  for (let round = 0; round < Number(process.env.ROUNDS); round++) for (const one of functions) kept.push(one(round));
  endProcess(7);`;

/** @returns how the program ended: with its exit code */
async function endOf(rounds: number): Promise<unknown> {
  const env = { MODULE: repositoryBuild('lifecycle'), ROUNDS: String(rounds) };
  const program = `import { setFlagsFromString } from 'node:v8';${FULL_PROGRAM}`;
  const ended = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    env,
    timeout: patient(10_000),
    killSignal: 'SIGKILL',
  });
  return await ended.then(
    () => 0,
    ({ code, signal }: { readonly code?: number; readonly signal?: string }) => code ?? signal,
  );
}

describe('endProcess', () => {
  const ROUNDS = Array.from({ length: 13 }, (_, n) => 200 + 10 * n);

  it('ends a program whose compilations wait for a collection', async () => {
    const ends = [];
    for (const rounds of ROUNDS) ends.push(await endOf(rounds));
    expect(ends).toEqual(ROUNDS.map(() => 7));
  });
});
