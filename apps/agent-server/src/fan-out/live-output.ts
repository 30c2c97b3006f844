import type { RelayedEvent } from '../store/row/run-event-row.js';
import type { RedisChannel } from './redis-channel.js';
import { encodeOutput } from './output-text.js';

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
