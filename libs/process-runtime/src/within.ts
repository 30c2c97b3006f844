import type { Clock } from '#lib/time';

/** Resolves when `work` does or the time is over, whichever comes first. Keeps no process alive. */
export function within(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    work.then(() => resolve(), reject).finally(cancel);
  });
}
