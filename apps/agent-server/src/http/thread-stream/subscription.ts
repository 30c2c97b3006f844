import { z } from 'zod';
import { sizedFirst } from '../../run/requested-run.js';
import { type EventAddress, isChannel } from '../../stream/thread-protocol.js';

/** Limit for all prefixes of a subscription together. */
const MAX_SEGMENTS = 5_000;

/**
 * Limits for all channels together, and for all prefixes: a reader that does nothing keeps them as long as it
 * stays.
 */
const MAX_CHANNEL_CHARACTERS = 8 * 1024;
const MAX_PREFIX_CHARACTERS = 56 * 1024;

function charactersOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function segmentsOf(namespaces: readonly unknown[]): number {
  return namespaces.reduce((sum: number, given) => sum + (Array.isArray(given) ? given.length : 0), 0);
}

const namespace = z.array(z.string().max(1_000)).max(100);

/** Shape of the events of a thread that a reader wants. */
const subscription = z.strictObject({
  channels: z
    .array(z.string().max(1_000).refine(isChannel, 'is not a channel of the thread stream protocol'))
    .min(1)
    .max(100)
    .refine(
      (given) => charactersOf(given) <= MAX_CHANNEL_CHARACTERS,
      `must not have more than ${MAX_CHANNEL_CHARACTERS} characters together; subscribe to custom for all channels of the graph`,
    ),
  /** Events below one of these; all without any. */
  namespaces: sizedFirst(
    z
      .array(namespace)
      .max(1_000)
      .refine(
        (given) => charactersOf(given.flat()) <= MAX_PREFIX_CHARACTERS,
        `must not have more than ${MAX_PREFIX_CHARACTERS} characters together; subscribe to a prefix that they share`,
      ),
    (given) =>
      Array.isArray(given) && segmentsOf(given) > MAX_SEGMENTS
        ? `must not have more than ${MAX_SEGMENTS} segments together; subscribe to a prefix that they share`
        : undefined,
  ).nullish(),
  /** Levels below the namespace. */
  depth: z.int().min(0).nullish(),
});

/** The same over HTTP: only events after the number `since`. */
export const eventRequest = subscription.extend({ since: z.int().min(0).nullish() });

export type Subscription = z.infer<typeof subscription>;

/** A segment of the prefixes, with the segments that follow it. */
interface Node {
  isEnd: boolean;
  readonly next: Map<string, Node>;
}

function treeOf(prefixes: readonly (readonly string[])[]): Node {
  const root: Node = { isEnd: false, next: new Map() };
  for (const prefix of prefixes) {
    let node = root;
    for (const segment of prefix) {
      const next = node.next.get(segment) ?? { isEnd: false, next: new Map() };
      node.next.set(segment, next);
      node = next;
    }
    node.isEnd = true;
  }
  return root;
}

/** Bytes of a segment of a prefix beside its characters. */
const SEGMENT_BYTES = 256;

/** Filter of a subscription. An address is judged once, however many events come from it. */
export class EventFilter {
  readonly #channels: ReadonlySet<string>;
  readonly #prefixes: Node | undefined;
  readonly #depth: number;
  /** Approximate bytes of its channels and prefixes. */
  readonly heldBytes: number;
  readonly #judged = new WeakMap<EventAddress, boolean>();

  constructor({ channels, namespaces, depth }: Subscription) {
    this.#channels = new Set(channels);
    this.#prefixes = namespaces && namespaces.length > 0 ? treeOf(namespaces) : undefined;
    this.#depth = depth ?? Infinity;
    const segments = (namespaces ?? []).flat();
    this.heldBytes = charactersOf([...channels, ...segments]) + SEGMENT_BYTES * segments.length;
  }

  wants(address: EventAddress): boolean {
    let isWanted = this.#judged.get(address);
    if (isWanted === undefined) {
      isWanted = this.#judge(address);
      this.#judged.set(address, isWanted);
    }
    return isWanted;
  }

  #judge({ channel, namespace: at }: EventAddress): boolean {
    const isOfChannel =
      this.#channels.has(channel) || (channel.startsWith('custom:') && this.#channels.has('custom'));
    return isOfChannel && (!this.#prefixes || this.#isBelow(this.#prefixes, at));
  }

  /** Level by level, by the prefixes that fit so far: never more than there are. */
  #isBelow(root: Node, at: readonly string[]): boolean {
    let fitting: readonly Node[] = [root];
    for (let level = 0; fitting.length > 0; level++) {
      if (at.length - level <= this.#depth && fitting.some(({ isEnd }) => isEnd)) return true;
      const segment = at[level];
      if (segment === undefined) return false;
      fitting = fitting.flatMap(({ next }) => nextOf(next, segment));
    }
    return false;
  }
}

/** Segments of a graph have a suffix for each of their runs: `name:id`; a prefix may leave it out. */
function nextOf(next: ReadonlyMap<string, Node>, segment: string): Node[] {
  const colon = segment.indexOf(':');
  const found = [next.get(segment), colon < 0 ? undefined : next.get(segment.slice(0, colon))];
  return found.filter((node) => node !== undefined);
}
