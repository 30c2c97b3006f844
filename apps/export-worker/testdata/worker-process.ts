import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
spawnSync(process.execPath, [join(root, 'bin', 'build.js')], { stdio: ['ignore', 'ignore', 'inherit'] });
const main = join(root, 'dist', 'apps', 'export-worker', 'src', 'main.js');

/** One attempt as a process of its own. */
export class WorkerProcess {
  readonly child: ChildProcess;
  readonly log: Record<string, unknown>[] = [];
  readonly #ended: Promise<number | NodeJS.Signals>;

  constructor(env: Readonly<Record<string, string>>) {
    this.child = spawn(process.execPath, [main], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (this.child.stderr)
      createInterface({ input: this.child.stderr }).on('line', (line) => {
        this.log.push(line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : { line });
      });
    this.#ended = once(this.child, 'close').then(
      ([code, signal]) => (code ?? signal) as number | NodeJS.Signals,
    );
  }

  /** The exit code, or the signal that killed it. */
  get ended(): Promise<number | NodeJS.Signals> {
    return this.#ended;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
