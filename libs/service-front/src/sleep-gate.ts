import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { errorText } from '#lib/errors';
import { isWakeAsked, type Service, type SleepNote, sleepNoteOf } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** The Service of a deployment that may sleep. */
export interface SleepingService {
  /** `namespace/name`, for log lines. */
  readonly name: string;
  /** The Service in its present state; undefined when it does not exist. */
  readonly find: () => Service | undefined;
  /** Writes the annotation by which the listener is asked: `ANNOTATION.wake`. */
  readonly write: (since: string) => Promise<void>;
  readonly log: Logger;
}

/**
 * Reads and writes of a Service for its `SleepGate`. A request ends this very sleep, once for all waiting
 * requests: the listener, which stopped the pods, reads it. A write that fails is repeated while a request
 * waits.
 */
export function sleepOf({
  name,
  find,
  write,
  log,
}: SleepingService): Pick<SleepGateOptions, 'note' | 'wake'> {
  return {
    note: () => {
      const service = find();
      return service && sleepNoteOf(service);
    },
    wake: async (note: SleepNote) => {
      const service = find();
      if (!service || isWakeAsked(service, note)) return;
      try {
        await write(note.since);
      } catch (error) {
        log.warn({ service: name, error: errorText(error) }, 'asking for the wake of a Service failed');
      }
    },
  };
}

const LOOK_EVERY_MS = 10;
/** A write that was lost is repeated while a request waits. */
const ASK_EVERY_MS = 1_000;

/** Limits of requests that wait for a deployment that sleeps. */
export interface SleepLimits {
  /** Time limit, longer than any start that succeeds. */
  readonly waitMs: number;
  /** Limit per Service. */
  readonly most: number;
  /** Limit per caller, identified by its credentials. */
  readonly mostOfCaller: number;
}

export const SLEEP_LIMITS: SleepLimits = { waitMs: 75_000, most: 1_000, mostOfCaller: 100 };

export interface SleepGateOptions {
  /** Present note of the Service; undefined while its requests go to its pods. */
  readonly note: () => SleepNote | undefined;
  /** Writes onto the Service that a request ends this sleep. */
  readonly wake: (note: SleepNote) => Promise<void>;
  /** Names of the pods that are ready. */
  readonly ready: () => readonly string[];
  readonly limits?: SleepLimits;
  readonly clock: Clock;
}

/** Reason why a request does not reach its pods. */
export interface Refusal {
  readonly status: 429 | 503;
  readonly message: string;
  /** Code for programs, where asking again does not help. */
  readonly code?: 'deployment_suspended';
}

const SUSPENDED: Refusal = {
  status: 503,
  message: 'the deployment is suspended; resume it (spec.suspend, or suspend by REST: false)',
  code: 'deployment_suspended',
};

/** True when nothing starts its pods before it is resumed. */
function isSuspended({ suspended, wakingSince }: SleepNote): boolean {
  return suspended === true && wakingSince === undefined;
}

interface Look {
  readonly note: SleepNote | undefined;
  /** True when all ready pods became ready after this sleep was first seen. */
  readonly hasNewPod: boolean;
}

/**
 * Holds requests to a deployment that sleeps, and asks for its wake. They pass once a pod of the wake is ready, which is
 * some 50 ms before the Service says that the sleep is over. Nothing of a request is read meanwhile, so that one
 * that waits is its socket and what the first reads brought.
 */
export class SleepGate {
  readonly #limits: SleepLimits;
  readonly #waiting = new Map<string, number>();
  #count = 0;
  #look: Promise<Look> | undefined;
  /** Ends the pause before the next look. */
  #endPause = (): void => undefined;
  /** Pods that were ready when this sleep was first seen, some of which may not have ended. */
  #former: { readonly since: string; readonly pods: ReadonlySet<string> } | undefined;
  #askedAtMs = -Infinity;
  #asked: string | undefined;

  constructor(private readonly options: SleepGateOptions) {
    this.#limits = options.limits ?? SLEEP_LIMITS;
  }

  /** True when its deployment sleeps, which a request would end. */
  get isShut(): boolean {
    const note = this.options.note();
    return note !== undefined && !isSuspended(note);
  }

  /** Waits until the requests of the Service go to its pods; answers why they do not, in the end. */
  async pass(request: IncomingMessage, signal: AbortSignal): Promise<Refusal | undefined> {
    const note = this.options.note();
    if (!note) return undefined;
    if (isSuspended(note)) return SUSPENDED;
    const caller = callerOf(request);
    const { most, mostOfCaller } = this.#limits;
    const ofCaller = this.#waiting.get(caller) ?? 0;
    if (this.#count >= most || ofCaller >= mostOfCaller)
      return {
        status: 429,
        message: `the deployment sleeps, and ${ofCaller >= mostOfCaller ? `${ofCaller} requests of this caller` : `${this.#count} requests`} wait for it already; retry in a moment`,
      };
    this.#count++;
    this.#waiting.set(caller, ofCaller + 1);
    try {
      return await this.#wait(note, signal);
    } finally {
      this.#count--;
      const left = (this.#waiting.get(caller) ?? 1) - 1;
      if (left > 0) this.#waiting.set(caller, left);
      else this.#waiting.delete(caller);
    }
  }

  async #wait(first: SleepNote, signal: AbortSignal): Promise<Refusal | undefined> {
    const { clock } = this.options;
    const untilMs = clock.monotonicMs() + this.#limits.waitMs;
    let { note, hasNewPod }: Look = this.#lookAt(first);
    while (note && !hasNewPod && !signal.aborted) {
      if (isSuspended(note)) return SUSPENDED;
      if (note.problem !== undefined)
        return {
          status: 503,
          message: `the deployment ${note.suspended === true ? 'is resumed' : 'slept'} and does not start: ${note.problem}`,
        };
      if (clock.monotonicMs() >= untilMs)
        return {
          status: 503,
          message: `the deployment slept and was not ready within ${Math.round(this.#limits.waitMs / 1000)} s; retry`,
        };
      this.#ask(note);
      ({ note, hasNewPod } = await this.#nextLook());
    }
    return undefined;
  }

  /** Once for all that wait, and again while nothing comes of it. */
  #ask(note: SleepNote): void {
    if (note.wakingSince !== undefined) return;
    const nowMs = this.options.clock.monotonicMs();
    if (this.#asked === note.since && nowMs - this.#askedAtMs < ASK_EVERY_MS) return;
    this.#asked = note.since;
    this.#askedAtMs = nowMs;
    void this.options.wake(note);
  }

  /** Looks at once: a pod has become ready. */
  lookNow(): void {
    this.#endPause();
  }

  /** One look for all that wait: the note may be large, since any editor of the Service can write it. */
  #nextLook(): Promise<Look> {
    this.#look ??= this.#pause().then(() => {
      this.#look = undefined;
      return this.#lookAt(this.options.note());
    });
    return this.#look;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(LOOK_EVERY_MS, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  #lookAt(note: SleepNote | undefined): Look {
    if (!note) return { note, hasNewPod: false };
    if (this.#former?.since !== note.since)
      this.#former = { since: note.since, pods: new Set(this.options.ready()) };
    const { pods } = this.#former;
    if (note.wakingSince === undefined) return { note, hasNewPod: false };
    const ready = this.options.ready();
    return { note, hasNewPod: ready.length > 0 && !ready.some((pod) => pods.has(pod)) };
  }
}

/** Callers differ by their credentials: their addresses are those of loopback, or of the network of a cluster. */
function callerOf({ headers }: IncomingMessage): string {
  const { authorization = '', cookie = '' } = headers;
  const given = `${String(headers['x-api-key'] ?? '')}\n${authorization}\n${cookie}`;
  return createHash('sha256').update(given).digest('base64');
}
