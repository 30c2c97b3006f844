import type { OutgoingFrame } from '../../log/logged-event.js';
import type { ProtocolReading, ThreadEvent } from '../../run/protocol-reading.js';
import type { EventAddress } from '../../stream/thread-protocol.js';
import type { EventFilter } from './subscription.js';

const MESSAGE_END = Buffer.from('}');
const FRAME_END = Buffer.from('}\n\n');

/** Name of events of a channel on the wire. */
function methodOf(channel: string): string {
  if (channel === 'input') return 'input.requested';
  return channel.startsWith('custom:') ? 'custom' : channel;
}

function frameOf({ channel, params }: ThreadEvent, head: string, tail: Buffer): OutgoingFrame {
  const shared = typeof params === 'string' ? undefined : params;
  const frame = typeof params === 'string' ? Buffer.from(params) : params.dataBytes;
  return { event: channel, head: Buffer.from(head), frame, tail, of: shared };
}

function beginning({ seq, id, channel }: ThreadEvent): string {
  return `{"type":"event","event_id":"${id}","seq":${seq},"method":"${methodOf(channel)}","params":`;
}

/** An event as JSON text. */
export function eventMessage(event: ThreadEvent): OutgoingFrame {
  return frameOf(event, beginning(event), MESSAGE_END);
}

/** The same as a server-sent event. */
function eventFrame(event: ThreadEvent): OutgoingFrame {
  const { id, channel } = event;
  return frameOf(event, `id: ${id}\nevent: ${methodOf(channel)}\ndata: ${beginning(event)}`, FRAME_END);
}

/** Frames for a reader of a thread; they have no end. */
export class ThreadFrames {
  readonly state = 'waiting';
  readonly hasEnd = false;

  constructor(private readonly reading: ProtocolReading) {}

  take(): OutgoingFrame | undefined {
    const event = this.reading.take();
    return event && eventFrame(event);
  }

  close(): void {
    this.reading.close();
  }
}

/** A way through the events of a thread, from after a number on. */
export interface FeedReading {
  take(): ThreadEvent | undefined;
  close(): void;
}

export type OpenReading = (from: {
  readonly since: number | undefined;
  readonly wants: (address: EventAddress) => boolean;
}) => FeedReading;

/**
 * Events processed at a stretch that every reader already has; there may be many, so others run in between.
 */
const MAX_HAD = 500;

interface Subscribed {
  readonly filter: EventFilter;
  /** Number up to which it has had every event. */
  after: number;
}

/**
 * The events of a thread for the subscriptions of one connection, each event once however many want it. A new
 * subscription is shown the kept events, so the reading begins again; earlier subscriptions wait until it has
 * reached their positions. So each sees its events in their order.
 */
export class ThreadFeed {
  readonly #subscribed = new Map<string, Subscribed>();
  #reading: FeedReading | undefined;
  /** Number of the last event that the reading came to. */
  #at = -1;

  constructor(
    private readonly open: OpenReading,
    private readonly onMore: () => void,
  ) {}

  get size(): number {
    return this.#subscribed.size;
  }

  /** Approximate bytes of the filters of all subscriptions. */
  get heldBytes(): number {
    return [...this.#subscribed.values()].reduce((sum, { filter }) => sum + filter.heldBytes, 0);
  }

  /** @param since only events after this number */
  subscribe(id: string, filter: EventFilter, since: number | undefined): void {
    this.#stand();
    this.#subscribed.set(id, { filter, after: since ?? -1 });
  }

  /** Answers whether there was such a subscription. */
  unsubscribe(id: string): boolean {
    const isThere = this.#subscribed.delete(id);
    if (this.#subscribed.size === 0) this.#stand();
    return isThere;
  }

  /** The next wanted event, if there is one now. */
  take(): ThreadEvent | undefined {
    if (this.#subscribed.size === 0) return undefined;
    this.#reading ??= this.#begin();
    for (let had = 0; had < MAX_HAD; had++) {
      const event = this.#reading.take();
      if (!event) return undefined;
      this.#at = event.seq;
      for (const { filter, after } of this.#subscribed.values())
        if (event.seq > after && filter.wants(event)) return event;
    }
    setImmediate(this.onMore);
    return undefined;
  }

  close(): void {
    this.#reading?.close();
    this.#subscribed.clear();
  }

  /** Ends the reading; each subscription keeps its place. */
  #stand(): void {
    this.#reading?.close();
    this.#reading = undefined;
    for (const one of this.#subscribed.values()) one.after = Math.max(one.after, this.#at);
    this.#at = -1;
  }

  #begin(): FeedReading {
    const subscribed = [...this.#subscribed.values()];
    const least = Math.min(...subscribed.map(({ after }) => after));
    const wants = (address: EventAddress): boolean => {
      for (const { filter } of this.#subscribed.values()) if (filter.wants(address)) return true;
      return false;
    };
    return this.open({ since: least < 0 ? undefined : least, wants });
  }
}
