import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** A process that computes for this long without a pause is ended: every request waits for it. */
const KILL_MS = 30_000;
const LOOK_MS = 1_000;

interface Silent {
  readonly pid: number | undefined;
  readonly silentMs: number;
  readonly ended: Promise<unknown>;
  kill(): void;
}

interface EndSilentParts {
  /** Name of the process in log lines. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Time for which it has answered its server, but could call no code of the agent. */
  readonly stuckMs?: () => number;
}

/** Ends a process once it was silent or stuck for too long; another takes its place. */
export function endSilent(process: Silent, { name, clock, log, stuckMs = () => 0 }: EndSilentParts): void {
  let lookedAtMs = clock.monotonicMs();
  let cancel: () => void;
  const look = (): void => {
    const nowMs = clock.monotonicMs();
    // after a pause of this process itself, missing reports of others prove nothing
    const isAwake = nowMs - lookedAtMs < 3 * LOOK_MS;
    lookedAtMs = nowMs;
    const times = { silentMs: Math.round(process.silentMs), stuckMs: Math.round(stuckMs()) };
    if (isAwake && Math.max(times.silentMs, times.stuckMs) > KILL_MS) {
      log.error(times, `${name} does not answer; it is ended`);
      return process.kill();
    }
    cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  void process.ended.then(() => cancel());
}
