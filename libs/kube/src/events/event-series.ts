import { createHash } from 'node:crypto';
import type { Clock } from '#lib/time';

/** Text of an event. */
export interface EventText {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word. */
  readonly reason: string;
  readonly message: string;
}

export type SeriesStep =
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
  readonly #clock: Clock;
  readonly #series = new Map<string, Series>();
  readonly #similar = new Map<string, Similar>();
  readonly #allowances = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Step for one more event about `subject`. */
  next(subject: string, given: EventText): SeriesStep {
    const text = shortened(given);
    const now = this.#clock.monotonicMs();
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
    const id = createHash('sha256').update(`${key}${this.#clock.now().getTime()}`).digest('hex').slice(0, 16);
    remember(this.#series, key, { id, count: 1, lastMs: now });
    return { kind: 'first', id, count: 1, text: combined };
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
