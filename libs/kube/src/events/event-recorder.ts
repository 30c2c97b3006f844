import { errorText } from '#lib/errors';
import type { Log } from '#lib/reconcile';
import { systemClock, type Clock } from '#lib/time';
import { isNotFound } from '../client/kube-api-error.js';
import type { KubeClient } from '../client/kube-client.js';
import {
  apiVersionOf,
  EVENTS,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectReference,
  type ResourceRef,
} from '#lib/resources';
import { createHash } from 'node:crypto';

/** Text of an event. */
interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word. */
  readonly reason: string;
  readonly message: string;
}

type SeriesStep =
  | {
      readonly kind: 'first' | 'repeat';
      readonly id: string;
      readonly count: number;
      readonly text: EventText;
    }
  | { readonly kind: 'drop' };

interface Series {
  readonly id: string;
  count: number;
  lastMs: number;
}

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Allowance {
  tokens: number;
  atMs: number;
}

const WINDOW_MS = 600_000;
const MAX_SIMILAR = 10;
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_KNOWN = 4_096;

/**
 * Decides which events are distinct, which are counted, which are dropped. The same limits as Kubernetes' own
 * clients.
 */
export class EventSeries {
  readonly #series = new Map<string, Series>();
  readonly #similar = new Map<string, Similar>();
  readonly #allowances = new Map<string, Allowance>();

  constructor(private readonly clock: Clock) {}

  /** Step for one more event about `subject`. */
  next(subject: string, given: EventText): SeriesStep {
    const text = shortened(given);
    const now = this.clock.monotonicMs();
    const combined = this.#combined(subject, text, now);
    if (!this.#isAllowed(subject, now)) return { kind: 'drop' };
    const key = JSON.stringify([
      subject,
      combined.type,
      combined.reason,
      combined === text ? text.message : '',
    ]);
    const series = this.#series.get(key);
    if (series && now - series.lastMs < WINDOW_MS) {
      series.count++;
      series.lastMs = now;
      return { kind: 'repeat', id: series.id, count: series.count, text: combined };
    }
    const id = createHash('sha256').update(`${key}${this.clock.now().getTime()}`).digest('hex').slice(0, 16);
    remember(this.#series, key, { id, count: 1, lastMs: now });
    return { kind: 'first', id, count: 1, text: combined };
  }

  /** Forgets what decides about no further event. @returns true when something is left */
  forgetOld(): boolean {
    const nowMs = this.clock.monotonicMs();
    for (const known of [this.#series, this.#similar])
      for (const [key, { lastMs }] of known) if (nowMs - lastMs >= WINDOW_MS) known.delete(key);
    for (const [subject, { tokens, atMs }] of this.#allowances)
      if (tokens + (nowMs - atMs) / REFILL_MS >= BURST) this.#allowances.delete(subject);
    return this.#series.size + this.#similar.size + this.#allowances.size > 0;
  }

  /** Combines events: from the eleventh different message of a reason on, they are one series. */
  #combined(subject: string, text: EventText, now: number): EventText {
    const key = JSON.stringify([subject, text.type, text.reason]);
    let similar = this.#similar.get(key);
    if (!similar || now - similar.lastMs >= WINDOW_MS) {
      similar = { messages: new Set(), lastMs: now };
      remember(this.#similar, key, similar);
    }
    similar.lastMs = now;
    if (similar.messages.has(text.message)) return text;
    if (similar.messages.size >= MAX_SIMILAR)
      return { ...text, message: `(combined from similar events): ${text.message}` };
    similar.messages.add(text.message);
    return text;
  }

  #isAllowed(subject: string, now: number): boolean {
    const before = this.#allowances.get(subject) ?? { tokens: BURST, atMs: now };
    const tokens = Math.min(BURST, before.tokens + (now - before.atMs) / REFILL_MS);
    const isAllowed = tokens >= 1;
    remember(this.#allowances, subject, { tokens: isAllowed ? tokens - 1 : tokens, atMs: now });
    return isAllowed;
  }
}

/** A message may quote what a user wrote, a megabyte of it, and is kept here for as long as it may be repeated. */
const MAX_MESSAGE_CHARS = 4_096;

function shortened(text: EventText): EventText {
  if (text.message.length <= MAX_MESSAGE_CHARS) return text;
  // a copy: a slice keeps the whole text in memory
  const kept = Buffer.from(text.message.slice(0, MAX_MESSAGE_CHARS).toWellFormed()).toString();
  return { ...text, message: `${kept}… (${text.message.length - MAX_MESSAGE_CHARS} more letters)` };
}

/** Keeps the most recently used. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_KNOWN) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Reporting component, for example `agentplane-controller`. */
  readonly component: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Events that wait to be written; more are dropped, since they are hints and never the truth. */
const MAX_WAITING = 1_000;

/**
 * Milliseconds between an event and its write. Whatever it reports usually goes on at once, and its next writes come
 * before a note about the last.
 */
const PAUSE_MS = 250;

/**
 * Writes Kubernetes Events. Equal events within ten minutes become one with a count; an object that has many different
 * ones of a reason gets one combined event; an object that reports without end is cut short. Never throws, never makes
 * its caller wait.
 */
export class EventRecorder {
  readonly #clock: Clock;
  readonly #series: EventSeries;
  #waiting = 0;
  #tail: Promise<void> = Promise.resolve();
  #endPause = (): void => undefined;
  #isForgetting = false;

  constructor(private readonly options: EventRecorderOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#series = new EventSeries(this.#clock);
  }

  /** Reports something about an object. */
  record(ref: ResourceRef, object: KubeObject, text: EventText): void {
    const step = this.#series.next(
      `${ref.kind}/${keyText(keyOf(object))}/${object.metadata.uid ?? ''}`,
      text,
    );
    if (!this.#isForgetting) this.#forgetLater();
    if (step.kind === 'drop' || this.#waiting >= MAX_WAITING) return;
    if (this.#waiting++ === 0) this.#tail = this.#pause();
    this.#tail = this.#tail
      .then(() => this.#write(ref, object, step))
      .catch((error: unknown) => {
        this.options.log.debug(
          { reason: text.reason, problem: errorText(error) },
          'an event was not written',
        );
      })
      .finally(() => this.#waiting--);
  }

  /** Resolves when everything recorded so far is written or given up. */
  async flush(): Promise<void> {
    this.#endPause();
    await this.#tail;
  }

  /** An object that is idle afterwards, as most are, leaves nothing behind. */
  #forgetLater(): void {
    this.#isForgetting = true;
    this.#clock.after(WINDOW_MS, () => {
      this.#isForgetting = false;
      if (this.#series.forgetOld()) this.#forgetLater();
    });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = systemClock.after(PAUSE_MS, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  async #write(
    ref: ResourceRef,
    object: KubeObject,
    step: Exclude<SeriesStep, { kind: 'drop' }>,
  ): Promise<void> {
    const { uid = '', name, namespace = 'default', resourceVersion } = object.metadata;
    const regarding: ObjectReference = {
      apiVersion: apiVersionOf(ref),
      kind: ref.kind,
      name,
      uid,
      ...(object.metadata.namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const key = { namespace, name: `${name.slice(0, 200)}.${step.id}` };
    const now = this.#clock
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    if (step.kind === 'repeat') {
      try {
        await this.options.client.merge(EVENTS, key, {
          count: step.count,
          lastTimestamp: now,
          message: step.text.message,
        });
        return;
      } catch (error) {
        // it lived out its hour: begin a new one
        if (!isNotFound(error)) throw error;
      }
    }
    const { component } = this.options;
    await this.options.client.create(EVENTS, {
      metadata: key,
      involvedObject: regarding,
      ...step.text,
      count: step.count,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
    });
  }
}
