import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { retryWhileUnavailable } from './retry-while-unavailable.js';

/** Less than probes of a starting program allow. */
const PATIENCE_MS = 120_000;

/**
 * Performs a step of a program's start, again and again while the database is unavailable; the step may be
 * performed twice, also at once. The log names the database.
 * @throws the last error of the step, after two minutes or when waiting cannot help
 */
export async function awaitDatabase(
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
  step: () => Promise<void>,
): Promise<void> {
  const report = (problem: string, isFirst: boolean): void => {
    if (isFirst) log.warn({ problem }, 'database unavailable; waiting for it');
  };
  await retryWhileUnavailable({ clock, patienceMs: PATIENCE_MS, report }, step);
}
