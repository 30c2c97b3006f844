import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryBuild } from './testdata/repository-build.js';
import { temporaryFolder } from '#lib/testing';

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
