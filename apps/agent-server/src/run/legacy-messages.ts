import type { RunEvent } from './run-feed.js';
import { wireJson } from './wire-value.js';

interface Chunk {
  readonly id?: string;
  concat?(other: unknown): Chunk;
}

/**
 * The wire's old `messages` mode, made of the library's tokens: `messages/metadata` once for each message,
 * `messages/partial` with everything so far, `messages/complete` once the message stands in the state.
 */
export class LegacyMessages {
  readonly #partial = new Map<string, Chunk>();
  readonly #complete = new Set<string>();

  token([chunk, metadata]: readonly [Chunk, unknown]): RunEvent[] {
    const id = chunk.id ?? '';
    const events: RunEvent[] = [];
    const before = this.#partial.get(id);
    if (!before) events.push({ event: 'messages/metadata', data: wireJson({ [id]: { metadata } }) });
    if (typeof chunk.concat !== 'function') {
      this.#partial.set(id, chunk);
      return [...events, ...this.#completed([chunk])];
    }
    const whole = before?.concat?.(chunk) ?? chunk;
    this.#partial.set(id, whole);
    events.push({ event: 'messages/partial', data: wireJson([whole]) });
    return events;
  }

  values(values: unknown): RunEvent[] {
    const messages: unknown =
      typeof values === 'object' && values !== null ? Reflect.get(values, 'messages') : [];
    return Array.isArray(messages) ? this.#completed(messages as Chunk[]) : [];
  }

  #completed(messages: readonly Chunk[]): RunEvent[] {
    const news = messages.filter((message) => message.id !== undefined && !this.#complete.has(message.id));
    if (news.length === 0) return [];
    for (const message of news) this.#complete.add(message.id ?? '');
    return [{ event: 'messages/complete', data: wireJson(news) }];
  }
}
