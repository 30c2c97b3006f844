import type { ChildProcess } from 'node:child_process';
import type { Clock } from '#lib/time';

/** What a process wrote last is read within this time of its end. */
const LAST_WORDS_MS = 2_000;

/**
 * How a child process ended, once what it wrote last is read. Processes that it started may hold its pipes and outlive it:
 * after two seconds the pipes are closed here, or its end would not be seen before theirs.
 */
export function endOfChild(child: ChildProcess, clock: Clock): Promise<string | Error> {
  return new Promise((resolve) => {
    let cancel = (): void => undefined;
    child.once('error', resolve);
    child.once('exit', () => {
      cancel = clock.after(LAST_WORDS_MS, () => {
        for (const stream of child.stdio) stream?.destroy();
      });
    });
    child.once('close', (code, signal) => {
      cancel();
      resolve(signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`);
    });
  });
}
