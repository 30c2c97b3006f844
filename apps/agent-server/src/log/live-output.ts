import { parseShort } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { RelayedEvent, StoredEvent } from './logged-event.js';
import type { RedisChannel } from './redis-channel.js';

type EventTuple = readonly [runId: string, attempt: number, n: number, event: string, data: string];

/** Content of one message. */
function encodeOutput(events: readonly RelayedEvent[]): string {
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

/**
 * Redis holds untaken messages of a listener in memory, and disconnects a listener for which more than 8 MB
 * wait: an event of this size goes through the database.
 */
const MAX_LIVE_CHARS = 1024 * 1024;

/** A server of an earlier version, whose id is not known and which reads only the database. */
export const UNKNOWN_SERVER = '';

/** An event, and the servers whose readers want it. */
export interface AddressedEvent {
  readonly to: readonly string[];
  readonly event: RelayedEvent;
}

/** Output of runs here on its way to other servers as it is made, by a channel for each server. */
export class LiveOutput {
  constructor(
    private readonly redis: Pick<RedisChannel, 'isLive' | 'publish'>,
    private readonly channelOf: (serverId: string) => string,
  ) {}

  /** Answers the events that some server was not sent, in order. */
  async send(output: readonly AddressedEvent[]): Promise<RelayedEvent[]> {
    const unsent = new Set<RelayedEvent>();
    const byServer = new Map<string, RelayedEvent[]>();
    for (const { to, event } of output) {
      const isLarge = event.data.length > MAX_LIVE_CHARS;
      if (to.length === 0 || isLarge || to.includes(UNKNOWN_SERVER)) unsent.add(event);
      if (isLarge) continue;
      for (const server of to) if (server !== UNKNOWN_SERVER) listIn(byServer, server).push(event);
    }
    await Promise.all(
      [...byServer].map(async ([server, events]) => {
        const isSent =
          this.redis.isLive && (await this.redis.publish(this.channelOf(server), encodeOutput(events)));
        if (!isSent) for (const event of events) unsent.add(event);
      }),
    );
    return output.map(({ event }) => event).filter((event) => unsent.has(event));
  }
}

function listIn(lists: Map<string, RelayedEvent[]>, key: string): RelayedEvent[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
