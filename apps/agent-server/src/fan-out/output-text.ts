import { isUuid } from '#lib/resources';
import type { RelayedEvent, StoredEvent } from '../store/row/run-event-row.js';

type EventTuple = readonly [runId: string, attempt: number, n: number, event: string, data: string];

/** What one message carries. */
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

/** The events of a message; undefined for one that no server sends. */
export function parseOutput(text: string): StoredEvent[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
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
