import { isJsonObject } from '#lib/json';

/** Channels that readers of a thread subscribe to; `custom:NAME` is a separate one. */
const CHANNELS = [
  'values',
  'updates',
  'messages',
  'tools',
  'lifecycle',
  'input',
  'checkpoints',
  'tasks',
  'custom',
];

const BASE: ReadonlySet<string> = new Set(CHANNELS);

/** Prefix of the names of these events in the output of a run; readers of a single run see them under it. */
const PREFIX = 'protocol/';

/** Kind of an event and the part of the graph that it comes from. */
export interface EventAddress {
  /** One of `CHANNELS`, or `custom:NAME`. */
  readonly channel: string;
  readonly namespace: readonly string[];
}

export function isChannel(name: string): boolean {
  return BASE.has(name) || (name.startsWith('custom:') && name.length > 'custom:'.length);
}

/**
 * The name of an event in the output of its run: it shows which readers want the event before its data is
 * read.
 */
export function eventNameOf({ channel, namespace }: EventAddress): string {
  // a graph may name a channel by half a character, which has no such name
  return PREFIX + [channel, ...namespace].map((name) => encodeURIComponent(name.toWellFormed())).join('|');
}

/** Names of events are few beside the events: most are met again by the next event, and by the next reader. */
const MAX_KNOWN = 1_000;
const MAX_KNOWN_CHARS = 1_000;
const known = new Map<string, EventAddress>();

/** Undefined for an event of a run that does not speak the protocol, and for a name that was forged. A name gives the same object for as long as it is in use. */
export function addressOf(eventName: string): EventAddress | undefined {
  if (!eventName.startsWith(PREFIX)) return undefined;
  const found = known.get(eventName);
  if (found) return found;
  const address = parseName(eventName.slice(PREFIX.length));
  if (!address) return undefined;
  if (known.size >= MAX_KNOWN) known.clear();
  if (eventName.length <= MAX_KNOWN_CHARS) known.set(eventName, address);
  return address;
}

/** Code of an agent can send names that `eventNameOf` does not make. */
function parseName(name: string): EventAddress | undefined {
  try {
    const [channel = '', ...namespace] = name.split('|').map(decodeURIComponent);
    return { channel, namespace };
  } catch {
    return undefined;
  }
}

/** An event as `streamEvents` of version 3 yields it. */
export interface LibraryProtocolEvent {
  readonly method: string;
  readonly params: {
    readonly namespace: readonly string[];
    readonly timestamp?: unknown;
    readonly node?: unknown;
    readonly data: unknown;
  };
}

export function isLibraryProtocolEvent(given: unknown): given is LibraryProtocolEvent {
  return (
    isJsonObject(given) &&
    typeof given['method'] === 'string' &&
    isJsonObject(given['params']) &&
    Array.isArray(given['params']['namespace'])
  );
}
