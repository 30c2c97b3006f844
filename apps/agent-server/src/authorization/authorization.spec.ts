import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { Authorization } from './authorization.js';

const log = createLogger('test', 'silent');
const ROUTE = { method: 'GET', path: '/', params: {}, query: {} } as unknown as Parameters<
  Authorization['authenticate']
>[2];

describe('Authorization', () => {
  /** Answers the named callers at once; the identity provider behind it makes all others wait. */
  function build(named: ReadonlySet<string>) {
    const authenticate = (request: Request): unknown => {
      const who = request.headers.get('authorization') ?? '';
      return named.has(who) ? who : new Promise(() => undefined);
    };
    const clock = new FakeClock();
    const authorization = new Authorization({
      handlers: { authenticate, callbacks: new Map() },
      cache: undefined,
      clock,
      log,
    });
    /** @param cookie is not read by the handler */
    const ask = (who: string, cookie?: string, address = '203.0.113.1') =>
      authorization
        .authenticate(
          () => new Request('http://agent.example/', { headers: { authorization: who } }),
          { authorization: who, ...(cookie === undefined ? {} : { cookie }) },
          ROUTE,
          address,
        )
        .then(({ identity }) => identity);
    return { ask, clock };
  }

  it('lets in whom it knows while made-up credentials wait in all places', async () => {
    const { ask, clock } = build(new Set(['ann']));
    expect(await ask('ann')).toBe('ann');
    let refused = 0;
    for (let at = 0; at < 2_500; at++) ask(`made up ${at}`).catch(() => refused++);
    await clock.advance(0);
    expect(refused).toBe(1_500);
    expect(await ask('ann')).toBe('ann');
    await expect(ask('a new caller')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('lets a new caller in from elsewhere while one address waits with made-up credentials', async () => {
    const { ask, clock } = build(new Set(['new']));
    const made = (at: number, address: string) => ask(`made up ${at}`, undefined, address);
    for (let at = 0; at < 2_500; at++) made(at, '203.0.113.1').catch(() => undefined);
    // a network of IPv6 is one source
    for (let at = 0; at < 2_500; at++) made(at, `2001:db8::${at.toString(16)}`).catch(() => undefined);
    await clock.advance(0);
    await expect(ask('new')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await ask('new', undefined, '198.51.100.7')).toBe('new');
  });

  it('knows a caller when another has shown ten thousand variations of its credentials', async () => {
    const { ask, clock } = build(new Set(['ann', 'bob']));
    await ask('ann');
    for (let at = 0; at <= 10_000; at++) await ask('bob', `at=${at}`);
    for (let at = 0; at < 1_000; at++) ask(`made up ${at}`).catch(() => undefined);
    await clock.advance(0);
    expect(await ask('ann')).toBe('ann');
    expect(await ask('bob', 'at=10000')).toBe('bob');
    await expect(ask('bob', 'at=9980')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('counts what waits for all credentials of an identity together', async () => {
    const named = new Set(['ann', 'bob']);
    const { ask, clock } = build(named);
    await ask('ann');
    for (let at = 0; at < 20; at++) await ask('bob', `at=${at}`);
    named.delete('bob');
    let refused = 0;
    for (let at = 0; at < 400; at++) ask('bob', `at=${at % 20}`).catch(() => refused++);
    await clock.advance(0);
    expect(refused).toBe(150);
    expect(await ask('ann')).toBe('ann');
  });
});
