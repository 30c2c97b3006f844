import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
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
  #peakBytes = 0;
  readonly #ended: Promise<number | NodeJS.Signals>;

  constructor(env: Readonly<Record<string, string>>) {
    this.child = spawn(process.execPath, [main], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        // as its Job has it
        MALLOC_MMAP_THRESHOLD_: '1048576',
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (this.child.stderr)
      createInterface({ input: this.child.stderr }).on('line', (line) => {
        this.log.push(line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : { line });
      });
    const watch = setInterval(() => this.#look(), 20);
    this.child.once('exit', () => clearInterval(watch));
    this.#ended = once(this.child, 'close').then(
      ([code, signal]) => (code ?? signal) as number | NodeJS.Signals,
    );
  }

  /** The exit code, or the signal that killed it. */
  get ended(): Promise<number | NodeJS.Signals> {
    return this.#ended;
  }

  /** Most memory that it had at a time, bytes. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  #look(): void {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
      const peak = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1];
      if (peak !== undefined) this.#peakBytes = Math.max(this.#peakBytes, Number(peak) * 1024);
    } catch {
      // it ended between two looks
    }
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
