import type { ChildProcess } from 'node:child_process';
import type { Clock } from '#lib/time';

/** Time after its end within which the last output of a process is read. */
const LAST_WORDS_MS = 2_000;

/**
 * End of a child process, once its last output is read. Processes that it started may hold its pipes and
 * outlive it: after two seconds the pipes are closed here, or its end would not be seen before theirs.
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
