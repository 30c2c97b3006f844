import { parseShort } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { RelayedEvent, StoredEvent } from '../store/row/run-event-row.js';

type EventTuple = readonly [runId: string, attempt: number, n: number, event: string, data: string];

/** Content of one message. */
export function encodeOutput(events: readonly RelayedEvent[]): string {
  return JSON.stringify(
    events.map(({ runId, position, event, data }): EventTuple => [
      runId,
      position.attempt,
      position.n,
      event,
      data,
    ]),
  );
}

function isEvent(value: unknown): value is EventTuple {
  if (!Array.isArray(value) || value.length !== 5) return false;
  const [runId, attempt, n, event, data] = value as unknown[];
  return (
    typeof runId === 'string' &&
    isUuid(runId) &&
    [attempt, n].every((count) => Number.isSafeInteger(count) && Number(count) >= 0) &&
    typeof event === 'string' &&
    typeof data === 'string'
  );
}

/** Limit above the largest message that servers publish: larger events go through the database. */
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;

/** The events of a message; undefined for one that no server sends. */
export function parseOutput(text: string): StoredEvent[] | undefined {
  let value: unknown;
  try {
    value = parseShort(text, MAX_MESSAGE_CHARS);
  } catch {
    return undefined;
  }
  if (!Array.isArray(value) || !value.every(isEvent)) return undefined;
  return value.map(([runId, attempt, n, event, data]) => ({
    runId,
    position: { attempt, n },
    event,
    data,
  }));
}
