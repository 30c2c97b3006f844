import fc from 'fast-check';
import type { EventAddress } from '../../stream/thread-protocol.js';
import { eventRequest, EventFilter, type Subscription } from './subscription.js';

/** The rules of the protocol, word by word: `isPrefixMatch` and `namespaceMatches` of the client. */
function isWanted(
  { channels, namespaces, depth }: Subscription,
  { channel, namespace }: EventAddress,
): boolean {
  if (!channels.includes(channel) && !(channel.startsWith('custom:') && channels.includes('custom')))
    return false;
  if (!namespaces || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      prefix.length <= namespace.length &&
      prefix.every(
        (wanted, at) =>
          namespace[at] === wanted || (!wanted.includes(':') && namespace[at]?.split(':')[0] === wanted),
      ) &&
      (typeof depth !== 'number' || namespace.length - prefix.length <= depth),
  );
}

const segment = fc.constantFrom('a', 'b', 'a:1', 'a:2', 'b:1', '', 'a:1:2', ':');
const path = fc.array(segment, { maxLength: 4 });
const channel = fc.constantFrom('values', 'custom', 'custom:x', 'custom:y', 'lifecycle');

describe('a subscription', () => {
  it('lets through what the rules of the client let through', () => {
    const wanted = fc.record({
      channels: fc.array(channel, { minLength: 1, maxLength: 3 }),
      namespaces: fc.option(fc.array(path, { maxLength: 4 })),
      depth: fc.option(fc.integer({ min: 0, max: 3 })),
    });
    fc.assert(
      fc.property(wanted, fc.array(fc.record({ channel, namespace: path })), (subscription, addresses) => {
        const filter = new EventFilter(subscription);
        for (const address of [...addresses, ...addresses])
          expect(filter.wants(address)).toBe(isWanted(subscription, address));
      }),
      { numRuns: 2_000 },
    );
  });

  it('costs no more with a thousand prefixes than with one', () => {
    const looksWith = (prefixes: number): number => {
      const namespaces = Array.from({ length: prefixes }, (_none, n) => ['agent', 'tools', `other${n}`]);
      let looks = 0;
      const namespace = new Proxy(['agent:1', 'tools:2', 'task:3', 'x'], {
        get: (target, key) => (looks++, Reflect.get(target, key) as unknown),
      });
      new EventFilter({ channels: ['values'], namespaces }).wants({ channel: 'values', namespace });
      return looks;
    };
    expect(looksWith(1_000)).toBe(looksWith(1));
  });

  const refused: [string, object][] = [
    ['more prefixes than 1,000', { namespaces: Array.from({ length: 1_001 }, () => ['a']) }],
    ['more segments than 5,000', { namespaces: Array.from({ length: 100 }, () => Array(51).fill('a')) }],
    ['longer prefixes than 56 KiB together', { namespaces: Array(100).fill(['a'.repeat(600)]) }],
    ['longer channels than 8 KiB together', { channels: Array(10).fill(`custom:${'a'.repeat(900)}`) }],
    ['a depth below none', { depth: -1 }],
    ['a channel without a name', { channels: ['custom:'] }],
  ];
  it('takes a thousand prefixes of tasks', () => {
    const namespaces = Array.from({ length: 1_000 }, (_none, n) => [`task:${n}-8e5b-4f6a-9d0c-1b2a3c4d5e6f`]);
    expect(eventRequest.safeParse({ channels: ['values', 'custom:x'], namespaces }).success).toBe(true);
  });

  it.each(refused)('refuses %s', (_title, given) => {
    expect(eventRequest.safeParse({ channels: ['values'], ...given }).success).toBe(false);
  });
});
