import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { postgresTrouble } from './postgres-trouble.js';

/** True when the same statement may succeed a little later; it may also have been performed already. */
export function mayPass(error: unknown): boolean {
  const trouble = postgresTrouble(error);
  return trouble === 'unavailable' || trouble === 'conflict';
}

const PAUSES = { firstMs: 200, longestMs: 3_000 };
/** A step without an answer for so long gets another one beside it; the next twice as late, since each has a connection. */
const FIRST_SILENCE_MS = 30_000;

/** Settings of the retries of a step. */
export interface UnavailableRetry {
  readonly clock: Clock;
  /**
   * Time after which a step that fails is not tried again. One in progress is never cut short: a migration
   * may take long.
   */
  readonly patienceMs: number;
  /** Called for each try that failed, and each that does not answer. */
  readonly report: (found: string, isFirst: boolean) => void;
  /** Signal: once it is aborted, nothing is tried or reported any more. */
  readonly signal?: AbortSignal;
}

type Outcome =
  | { readonly kind: 'done' | 'failed'; readonly attempt: symbol; readonly error?: unknown }
  | { readonly kind: 'silent' };

/**
 * Performs a step until it succeeds, while the database is unavailable or another transaction is in the way.
 *
 * A step may hang on a connection whose other end does not answer any more, or take long; these cannot be
 * distinguished here. So a silent one is left alone and another is begun beside it: the first that ends well
 * counts.
 * @param step may be performed twice, also at once
 * @throws errors of a step that cannot pass, or that occur after the patience with no other step in progress
 */
export async function retryWhileUnavailable(
  { clock, patienceMs, report, signal }: UnavailableRetry,
  step: () => Promise<void>,
): Promise<void> {
  const backoff = new Backoff(clock, PAUSES);
  const underWay = new Map<symbol, Promise<Outcome>>();
  const beganMs = clock.monotonicMs();
  let silenceMs = FIRST_SILENCE_MS;
  let reports = 0;
  for (;;) {
    signal?.throwIfAborted();
    const attempt = Symbol('attempt');
    underWay.set(attempt, outcomeOf(attempt, step));
    const outcome = await firstOutcome(underWay, clock, silenceMs);
    signal?.throwIfAborted();
    if (outcome.kind === 'done') return;
    if (outcome.kind === 'silent') {
      report(`no answer for ${silenceMs / 1_000} s`, reports++ === 0);
      silenceMs *= 2;
      continue;
    }
    underWay.delete(outcome.attempt);
    const isOver = clock.monotonicMs() - beganMs > patienceMs && underWay.size === 0;
    if (isOver || !mayPass(outcome.error)) throw outcome.error;
    report(errorText(outcome.error), reports++ === 0);
    await backoff.pause();
  }
}

async function outcomeOf(attempt: symbol, step: () => Promise<void>): Promise<Outcome> {
  try {
    await step();
    return { kind: 'done', attempt };
  } catch (error) {
    return { kind: 'failed', attempt, error };
  }
}

async function firstOutcome(
  underWay: ReadonlyMap<symbol, Promise<Outcome>>,
  clock: Clock,
  silenceMs: number,
): Promise<Outcome> {
  const { promise: silence, resolve } = Promise.withResolvers<Outcome>();
  const cancel = clock.after(silenceMs, () => resolve({ kind: 'silent' }));
  try {
    return await Promise.race([...underWay.values(), silence]);
  } finally {
    cancel();
  }
}

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
