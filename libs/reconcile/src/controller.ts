import { errorText, TerminalError, WaitingError } from '#lib/errors';
import { EVENT, keyText, type ObjectKey, parseKey, REASON } from '#lib/resources';
import type { Clock } from '#lib/time';
import { WorkQueue, type WorkQueueOptions } from './work-queue.js';

/** The part of a logger that this library needs. Variable text goes into fields. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Result of a pass over one object. The fourth possibility is to throw. */
export type Result =
  | { readonly kind: 'done' }
  | { readonly kind: 'after'; readonly ms: number }
  | { readonly kind: 'wait'; readonly reason: string; readonly ms: number };

const DONE: Result = Object.freeze({ kind: 'done' });

/** Nothing more to do until something changes. */
export function done(): Result {
  return DONE;
}

/** Look again after `ms` (the loop adds up to 10 % of jitter). */
export function after(ms: number): Result {
  return { kind: 'after', ms };
}

/** Something expected does not exist yet; look again after `ms` at the latest. `reason` is a CamelCase word. */
export function wait(reason: string, ms: number): Result {
  return { kind: 'wait', reason, ms };
}

/** Meaning of a thrown value's class for the loop. Decided here once; callers never decide again. */
export type Failure =
  | {
      /** A person or a change of the spec is needed: a look a minute, condition, one Warning event, logged as warning. */
      readonly kind: 'terminal';
      readonly reason: string;
      readonly message: string;
    }
  | {
      /** Expected and passing: requeue after `delayMs`, condition, no event, logged at debug level. */
      readonly kind: 'waiting';
      readonly reason: string;
      readonly message: string;
      readonly delayMs: number;
    }
  | {
      /** Anything else: requeue with back-off, condition, Warning event, logged as error. */
      readonly kind: 'retry';
      readonly reason: typeof EVENT.reconcileFailed;
      readonly message: string;
      readonly error: unknown;
      /** The trouble of a server that may be over at any moment: no answer, 429, 5xx. */
      readonly isTransient: boolean;
    }
  | {
      /** Another writer was first (409): requeue with back-off, nothing else. */
      readonly kind: 'conflict';
      readonly reason: typeof REASON.conflict;
      readonly message: string;
    };

/** Classifies anything that a reconciler threw. */
function classifyFailure(thrown: unknown): Failure {
  const message = errorText(thrown);
  if (thrown instanceof TerminalError) return { kind: 'terminal', reason: thrown.reason, message };
  if (thrown instanceof WaitingError)
    return { kind: 'waiting', reason: thrown.reason, message, delayMs: thrown.delayMs };
  if (isConflict(thrown)) return { kind: 'conflict', reason: REASON.conflict, message };
  return {
    kind: 'retry',
    reason: EVENT.reconcileFailed,
    message,
    error: thrown,
    isTransient: isTransient(thrown),
  };
}

/**
 * True for the machine-readable reason of an API error, whatever class carries it: this library depends on no
 * client.
 */
function isConflict(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 409;
}

/** Words of Node for connections that broke, or gave no answer in time. */
const NO_ANSWER = /^(E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_)|UND_ERR|TimeoutError$|AbortError$)/;

function isTransient(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  const { code } = thrown;
  return typeof code === 'number' ? code === 429 || code >= 500 : NO_ANSWER.test(String(code));
}

export interface ReconcileContext {
  /** Aborted when the controller stops and its time to drain is over. */
  readonly signal: AbortSignal;
  /** Failures of this key in a row before this pass. */
  readonly failures: number;
}

/**
 * One pass over one object: re-reads the world, decides, acts once, reports. Gets a key and nothing else, so that
 * creation, update, deletion, restart and resync are the same code.
 */
export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Result>;

/** Requeue delay after a terminal failure: a person's change may not wake its object. */
const TERMINAL_LOOK_MS = 60_000;

/** One pass, for metrics and tests. */
export interface PassReport {
  readonly key: ObjectKey;
  readonly outcome: Result['kind'] | Failure['kind'];
  readonly durationMs: number;
}

/** Maximum use of the event loop for passes one after another. */
const LONGEST_TURN_MS = 10;

/** Reports of the loop about the passes of an object. Errors of these are only logged. */
export interface PassReports {
  /**
   * Called for every failed pass except conflicts and repeated terminal failures.
   * @param isRepeated true when passes of the object fail for the third time in a row, or for 10 s
   */
  failed(key: ObjectKey, failure: Failure, isRepeated: boolean): void | Promise<void>;
  /** Called after every pass that came to an end of its own: a result, or a failure that its reconciler explains. */
  ended(key: ObjectKey): void | Promise<void>;
}

/** Passes of an object that failed for no reason that its reconciler knows. */
interface FailingPasses {
  readonly sinceMs: number;
  readonly times: number;
}

const REPEATED_TIMES = 3;
const REPEATED_MS = 10_000;

export interface ControllerOptions extends Omit<WorkQueueOptions, 'clock'> {
  readonly name: string;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly log: Log;
  /** Passes at the same time, each over another object. Default 4. */
  readonly concurrency?: number;
  readonly reports?: PassReports;
  readonly onPass?: (report: PassReport) => void;
  /** Runs each pass, its log lines included: the place for a span and for what every line of the pass shall carry. */
  readonly around?: (key: ObjectKey, pass: () => Promise<void>) => Promise<void>;
}

/**
 * The loop: takes keys, runs one pass for each, turns the result or the class of the failure into requeue and
 * log. An error of a pass stays with its object; the other passes continue.
 */
export class Controller {
  readonly name: string;
  readonly #queue: WorkQueue;
  readonly #abort = new AbortController();
  /** The message of each key's terminal failure. */
  readonly #reported = new Map<string, string>();
  readonly #failing = new Map<string, FailingPasses>();
  #workers: Promise<void>[] = [];
  /** Time at which a worker last yielded the event loop. */
  #breathedMs: number;

  constructor(private readonly options: ControllerOptions) {
    this.name = options.name;
    this.#queue = new WorkQueue(options);
    this.#breathedMs = options.clock.monotonicMs();
  }

  /** Keys that wait for a worker. */
  get depth(): number {
    return this.#queue.depth;
  }

  /** Milliseconds that the oldest key has waited for a worker, 0 when none waits. */
  get oldestMs(): number {
    return this.#queue.oldestMs;
  }

  enqueue(key: ObjectKey): void {
    this.#queue.add(keyText(key));
  }

  /** Starts the workers. Keys may be enqueued before. */
  start(): void {
    if (this.#workers.length > 0) throw new Error(`controller ${this.name} is running already`);
    this.#workers = Array.from({ length: this.options.concurrency ?? 4 }, () => this.#work());
  }

  /** Takes no more keys, lets running passes end within `drainMs`, then aborts their signal and waits for them. */
  async stop(drainMs = 5_000): Promise<void> {
    this.#queue.close();
    const reason = new Error(`controller ${this.name} is stopping`);
    const cancel = this.options.clock.after(drainMs, () => this.#abort.abort(reason));
    await Promise.all(this.#workers);
    cancel();
  }

  async #work(): Promise<void> {
    for (;;) {
      const text = await this.#queue.next();
      if (text === undefined) return;
      try {
        const { around } = this.options;
        if (around) await around(parseKey(text), () => this.#pass(text));
        else await this.#pass(text);
      } catch (error) {
        // only a hook of the owner can get here; a worker must survive it
        this.options.log.error(
          { controller: this.name, key: text, err: error },
          'hook of the controller failed',
        );
      } finally {
        this.#queue.finish(text);
      }
      await this.#breathe();
    }
  }

  /**
   * Yields the event loop: passes that wait for nothing continue within one round of it, and would hold up
   * timers, requests and the lease.
   */
  async #breathe(): Promise<void> {
    const { clock } = this.options;
    if (clock.monotonicMs() - this.#breathedMs < LONGEST_TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#breathedMs = clock.monotonicMs();
  }

  async #pass(text: string): Promise<void> {
    const { reconcile, clock } = this.options;
    const key = parseKey(text);
    const startedMs = clock.monotonicMs();
    let outcome: PassReport['outcome'];
    try {
      const result = await reconcile(key, {
        signal: this.#abort.signal,
        failures: this.#queue.failures(text),
      });
      this.#settle(text, result);
      outcome = result.kind;
      await this.#tell(text, (reports) => reports.ended(key));
    } catch (error) {
      const failure = classifyFailure(error);
      outcome = failure.kind;
      await this.#fail(text, failure, error);
    }
    this.options.onPass?.({ key, outcome, durationMs: clock.monotonicMs() - startedMs });
  }

  #settle(text: string, result: Result): void {
    this.#queue.forget(text);
    this.#reported.delete(text);
    this.#failing.delete(text);
    switch (result.kind) {
      case 'done':
        return;
      case 'wait':
        this.options.log.debug({ controller: this.name, key: text, reason: result.reason }, 'waiting');
        return this.#queue.addAfter(text, jittered(result.ms, this.options.random));
      case 'after':
        return this.#queue.addAfter(text, jittered(result.ms, this.options.random));
      default:
        result satisfies never;
    }
  }

  async #fail(text: string, failure: Failure, error: unknown): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const { log } = this.options;
    const fields = { controller: this.name, key: text, reason: failure.reason, problem: failure.message };
    const key = parseKey(text);
    if (failure.kind === 'terminal' || failure.kind === 'waiting') {
      this.#failing.delete(text);
      await this.#tell(text, (reports) => reports.ended(key));
    }
    switch (failure.kind) {
      case 'terminal':
        this.#queue.forget(text);
        this.#queue.addAfter(text, jittered(TERMINAL_LOOK_MS, this.options.random));
        if (this.#reported.get(text) === failure.message) return;
        this.#reported.set(text, failure.message);
        log.warn(fields, 'reconcile refused; the object or its surroundings must change');
        break;
      case 'waiting':
        this.#queue.forget(text);
        this.#queue.addAfter(text, jittered(failure.delayMs, this.options.random));
        log.debug(fields, 'waiting');
        break;
      case 'conflict':
        this.#queue.addFailed(text);
        log.debug(fields, 'another writer was first');
        return;
      case 'retry': {
        const delayMs = Math.round(this.#queue.addFailed(text, failure.isTransient));
        log.error({ ...fields, delayMs, err: error }, 'reconcile failed');
        break;
      }
      default:
        failure satisfies never;
    }
    const isRepeated = failure.kind === 'retry' && this.#isRepeated(text);
    await this.#tell(text, (reports) => reports.failed(key, failure, isRepeated));
  }

  #isRepeated(text: string): boolean {
    const nowMs = this.options.clock.monotonicMs();
    const { sinceMs, times } = this.#failing.get(text) ?? { sinceMs: nowMs, times: 0 };
    this.#failing.set(text, { sinceMs, times: times + 1 });
    return times + 1 >= REPEATED_TIMES || nowMs - sinceMs >= REPEATED_MS;
  }

  async #tell(text: string, tell: (reports: PassReports) => void | Promise<void>): Promise<void> {
    const { log, reports } = this.options;
    if (!reports) return;
    try {
      await tell(reports);
    } catch (problem) {
      log.warn({ controller: this.name, key: text, err: problem }, 'reporting the pass failed');
    }
  }
}

/** Up to 10 % later, so that objects made together do not come back together every time. */
function jittered(ms: number, random: () => number = Math.random): number {
  return ms * (1 + 0.1 * random());
}
