import { setPriority } from 'node:os';
import { errorText } from '#lib/errors';
import { metrics, type Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Lake, SealedDay } from '#lib/trace-store';
import { EXIT_CODE, outcomeOf } from '../run-attempt.js';

/** The worker gives way to requests and exports on its machine. */
const NICE = 10;

/** No further day is begun once the process is this old: credentials and settings are those of its beginning. */
const TAKE_FOR_MS = 600_000;

/** Days that fail before the process ends: what fails for so many fails for all, and each failure postpones its day. */
const MAX_FAILURES = 3;

interface SealTools {
  readonly lake: Pick<Lake, 'sealNext' | 'publish' | 'tidy'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Aborted when the program must stop. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Lowers the priority of this process, where the system lets it. */
export function giveWay(log: Logger): void {
  try {
    setPriority(NICE);
  } catch (error) {
    log.debug({ error: errorText(error) }, 'the priority of the process stays as it is');
  }
}

/**
 * Seals due days one after the other, publishes the tables of their projects, and removes objects that no row names any more. Never rejects: a day that fails is
 * noted by the lake, postponed, and decides the exit code; days after it are sealed.
 * @returns the exit code
 */
export async function sealDays({ lake, clock, signal, log }: SealTools): Promise<number> {
  const startedMs = clock.monotonicMs();
  const failures: number[] = [];
  while (clock.monotonicMs() - startedMs < TAKE_FOR_MS && failures.length < MAX_FAILURES) {
    if (signal.aborted) return EXIT_CODE.retry;
    const begunMs = clock.monotonicMs();
    try {
      const sealed = await lake.sealNext({ signal });
      if (!sealed) break;
      report(sealed, (clock.monotonicMs() - begunMs) / 1000, log);
    } catch (failure) {
      if (signal.aborted) return EXIT_CODE.retry;
      failures.push(failureOf(failure, 'sealing a day failed', log));
    }
  }
  const steps = [
    [() => lake.publish({ signal }), 'publishing tables of sealed days failed'],
    [() => lake.tidy(), 'removing unnamed objects failed'],
  ] as const;
  for (const [step, what] of steps) {
    try {
      await step();
    } catch (failure) {
      if (!signal.aborted) failures.push(failureOf(failure, what, log));
    }
    if (signal.aborted) return EXIT_CODE.retry;
  }
  return failures[0] ?? EXIT_CODE.done;
}

function report(
  { tenantId, projectId, day, rows, bytes, files }: SealedDay,
  seconds: number,
  log: Logger,
): void {
  metrics.lakeSealedRows.add(rows);
  metrics.lakeSealedBytes.add(bytes);
  metrics.lakeSealDuration.observe(seconds);
  log.info({ tenant: tenantId, project: projectId, day, rows, bytes, files }, 'sealed a day');
}

/** @returns its exit code */
function failureOf(failure: unknown, what: string, log: Logger): number {
  const { exitCode } = outcomeOf(failure, 0, undefined);
  metrics.lakeSealFailures.add(1);
  log.error({ exitCode, error: errorText(failure) }, what);
  return exitCode;
}
