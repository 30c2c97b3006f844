import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** Whoever computes for so long without a pause is ended: every request waits for it. */
const KILL_MS = 30_000;
const LOOK_MS = 1_000;

interface Silent {
  readonly pid: number | undefined;
  readonly silentMs: number;
  readonly ended: Promise<unknown>;
  kill(): void;
}

/** Ends a process once it was silent for too long; another takes its place. @param name of it, in log lines */
export function endSilent(
  process: Silent,
  { name, clock, log }: { readonly name: string; readonly clock: Clock; readonly log: Logger },
): void {
  let lookedAtMs = clock.monotonicMs();
  let cancel: () => void;
  const look = (): void => {
    const nowMs = clock.monotonicMs();
    // this process stood still itself, and has heard of nobody
    const isAwake = nowMs - lookedAtMs < 3 * LOOK_MS;
    lookedAtMs = nowMs;
    if (isAwake && process.silentMs > KILL_MS) {
      log.error({ silentMs: Math.round(process.silentMs) }, `${name} does not answer; it is ended`);
      return process.kill();
    }
    cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  void process.ended.then(() => cancel());
}
