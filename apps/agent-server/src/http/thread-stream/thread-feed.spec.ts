import fc from 'fast-check';
import type { ThreadEvent } from '../../run/protocol-reading.js';
import { EventFilter } from './subscription.js';
import { ThreadFeed } from './thread-feed.js';

const CHANNELS = ['values', 'updates', 'lifecycle'] as const;

type Action =
  | { readonly kind: 'event'; readonly channel: (typeof CHANNELS)[number] }
  | { readonly kind: 'subscribe'; readonly channels: (typeof CHANNELS)[number][]; readonly since?: number }
  | { readonly kind: 'unsubscribe'; readonly which: number }
  | { readonly kind: 'take'; readonly count: number };

const channel = fc.constantFrom(...CHANNELS);
const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('event' as const), channel }),
    fc.record(
      {
        kind: fc.constant('subscribe' as const),
        channels: fc.uniqueArray(channel, { minLength: 1 }),
        since: fc.integer({ min: 0, max: 5 }),
      },
      { requiredKeys: ['kind', 'channels'] },
    ),
    fc.record({ kind: fc.constant('unsubscribe' as const), which: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ kind: fc.constant('take' as const), count: fc.integer({ min: 1, max: 5 }) }),
  ),
  { maxLength: 40 },
);

/** A subscription as a client sees it: the events sent since it was made, each once. */
interface Client {
  readonly id: string;
  readonly channels: readonly string[];
  readonly since: number;
  readonly seen: number[];
}

function perform(given: readonly Action[]): { clients: Client[]; events: ThreadEvent[]; sent: number[][] } {
  const events: ThreadEvent[] = [];
  const feed = new ThreadFeed(
    ({ since, wants }) => {
      let next = 0;
      const take = (): ThreadEvent | undefined => {
        for (let event = events[next++]; event; event = events[next++])
          if (event.seq > (since ?? -1) && wants(event)) return event;
        next--;
        return undefined;
      };
      return { take, close: () => undefined };
    },
    () => undefined,
  );
  let clients: Client[] = [];
  /** Numbers that were sent between two subscriptions. */
  const sent: number[][] = [[]];
  const take = (): boolean => {
    const event = feed.take();
    if (!event) return false;
    sent.at(-1)?.push(event.seq);
    // as the client does: to every subscription that fits and does not have it yet
    for (const { channels, seen } of clients)
      if (channels.includes(event.channel) && !seen.includes(event.seq)) seen.push(event.seq);
    return true;
  };
  given.forEach((action, at) => {
    if (action.kind === 'event')
      events.push({ channel: action.channel, namespace: [], seq: events.length, id: `${at}`, params: '{}' });
    if (action.kind === 'subscribe') {
      const { channels, since } = action;
      feed.subscribe(`${at}`, new EventFilter({ channels }), since);
      clients.push({ id: `${at}`, channels, since: since ?? -1, seen: [] });
      sent.push([]);
    }
    if (action.kind === 'unsubscribe') {
      const gone = clients[action.which];
      if (gone) expect(feed.unsubscribe(gone.id)).toBe(true);
      clients = clients.filter((client) => client !== gone);
    }
    if (action.kind === 'take') for (let n = 0; n < action.count && take(); n++);
  });
  while (take());
  return { clients, events, sent };
}

describe('ThreadFeed', () => {
  it('sends each subscription all of its events, and none twice between two subscriptions', () => {
    fc.assert(
      fc.property(actions, (given) => {
        const { clients, events, sent } = perform(given);
        for (const { channels, since, seen } of clients) {
          const wanted = events.filter((event) => channels.includes(event.channel) && event.seq > since);
          expect(seen).toEqual(expect.arrayContaining(wanted.map(({ seq }) => seq)));
        }
        for (const numbers of sent) expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });

  it('sends events in order to a subscription that names no number', () => {
    fc.assert(
      fc.property(actions, (given) => {
        const { clients } = perform(given.map((action) => ({ ...action, since: undefined }) as Action));
        for (const { seen } of clients) expect(seen).toEqual([...seen].sort((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });
});
