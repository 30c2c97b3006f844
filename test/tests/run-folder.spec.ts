import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { temporaryFolder } from '#lib/testing';

const run = promisify(execFile);
const MODULE = './scripts/tests/run-folder.mjs';
/** Starts a program that stays, names it with the folder of the run, and is killed. */
const KILLED = `
  import { spawn } from 'node:child_process';
  import { openRunFolder } from '${MODULE}';
  const folder = openRunFolder();
  const { pid } = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  process.stdout.write(JSON.stringify({ folder, pid }), () => process.kill(process.pid, 'SIGKILL'));`;
const NEXT = `
  import { openRunFolder } from '${MODULE}';
  openRunFolder();`;

/** A process that ended and that its parent has not asked for yet has no arguments. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/cmdline`;
  return existsSync(path) && readFileSync(path, 'utf8') !== '';
}

describe('the folder of a test run', () => {
  const parent = temporaryFolder();

  it('removes what a killed run left, and ends its processes', async () => {
    const env = { ...process.env, TMPDIR: parent };
    const start = (text: string) => run(process.execPath, ['--input-type=module', '-e', text], { env });
    const { stdout } = (await start(KILLED).catch((error: unknown) => error)) as { stdout: string };
    const { folder, pid } = JSON.parse(stdout) as { folder: string; pid: number };
    expect(isRunning(pid)).toBe(true);
    await start(NEXT);
    expect(existsSync(folder)).toBe(false);
    expect(isRunning(pid)).toBe(false);
  });
});
