import { isJsonObject } from '#lib/json';
import { wireJson } from '../wire/wire-value.js';
import type { Render, RunEvent } from './run-event.js';

interface Chunk {
  readonly id?: string;
  concat?(other: unknown): Chunk;
}

function isChunk(value: unknown): value is Chunk {
  return typeof value === 'object' && value !== null;
}

/**
 * The mode `messages`, the wire's older form, made of the library's tokens: `messages/metadata` once for each
 * message, `messages/partial` with everything so far, `messages/complete` once the message is in the state.
 */
export function growingMessageRenderer(): Readonly<Record<'messages' | 'values', Render>> {
  const partial = new Map<string, Chunk>();
  const complete = new Set<string>();

  function completed(messages: readonly Chunk[]): RunEvent[] {
    const news = messages.filter(({ id }) => id !== undefined && !complete.has(id));
    if (news.length === 0) return [];
    for (const { id = '' } of news) complete.add(id);
    return [{ event: 'messages/complete', data: wireJson(news) }];
  }

  function token(chunk: Chunk, metadata: unknown): RunEvent[] {
    const id = chunk.id ?? '';
    const events: RunEvent[] = [];
    const before = partial.get(id);
    if (!before) events.push({ event: 'messages/metadata', data: wireJson({ [id]: { metadata } }) });
    if (typeof chunk.concat !== 'function') {
      partial.set(id, chunk);
      return [...events, ...completed([chunk])];
    }
    const whole = before?.concat?.(chunk) ?? chunk;
    partial.set(id, whole);
    events.push({ event: 'messages/partial', data: wireJson([whole]) });
    return events;
  }

  return {
    messages: ({ payload }) => {
      if (!Array.isArray(payload)) return [];
      const [chunk, metadata]: unknown[] = payload;
      return isChunk(chunk) ? token(chunk, metadata) : [];
    },
    values: ({ payload, namespace }) => {
      if (namespace.length > 0 || !isJsonObject(payload) || !Array.isArray(payload['messages'])) return [];
      return completed(payload['messages'].filter(isChunk));
    },
  };
}
