import { newId, storeFixture } from '../../../testdata/store-fixture.js';
import { WORKER } from '../worker-scope.js';
import { claimWebhooks, type WebhookPlaces } from './webhooks.js';

const store = storeFixture();
const LARGE = 2 * 1024 * 1024;
const PLACES: WebhookPlaces = {
  limit: 16,
  slowLimit: 12,
  largeLimit: 2,
  largeSlowLimit: 1,
  quickHosts: ['quick'],
  perHost: 4,
  busyHosts: [],
  leaseMs: 15_000,
};

interface Call {
  readonly host: string;
  readonly bytes?: number;
  readonly attempts?: number;
}

/** Hosts of the calls that are claimed of these; the first is due for the longest time. */
async function claimedOf(calls: readonly Call[], places: Partial<WebhookPlaces> = {}): Promise<string[]> {
  await store.pool.query('DELETE FROM agentplane.webhooks');
  for (const [at, { host, bytes = 100, attempts = 0 }] of calls.entries())
    await store.pool.query(
      `INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url, bytes, attempts, next_attempt_at)
       VALUES ($1, $2, false, '{}', $3, $4, $5, clock_timestamp() - $6 * interval '1 second')`,
      [newId(), newId(), `http://${host}/called`, bytes, attempts, calls.length - at],
    );
  const due = await claimWebhooks(WORKER, store.sql, { ...PLACES, ...places });
  return due.map(({ host }) => host).sort();
}

describe('the claim of webhooks', () => {
  it('leaves a large place to quick hosts', async () => {
    const calls = ['slow-1', 'slow-2', 'quick'].map((host) => ({ host, bytes: LARGE }));
    expect(await claimedOf(calls)).toEqual(['quick', 'slow-1']);
  });

  it('gives large places to calls that the slow places admit', async () => {
    const calls = ['slow-1', 'slow-2', 'quick'].map((host) => ({ host, bytes: LARGE }));
    expect(await claimedOf(calls, { slowLimit: 0 })).toEqual(['quick']);
  });

  it('takes first attempts of large calls before repetitions', async () => {
    const calls = [
      { host: 'repeated', bytes: LARGE, attempts: 1 },
      { host: 'new', bytes: LARGE },
    ];
    expect(await claimedOf(calls)).toEqual(['new']);
  });

  it('takes small calls of slow hosts past large ones that wait', async () => {
    const calls = [
      ...['slow-1', 'slow-2'].map((host) => ({ host, bytes: LARGE })),
      ...['slow-3', 'slow-4'].map((host) => ({ host })),
    ];
    expect(await claimedOf(calls, { slowLimit: 2 })).toEqual(['slow-1', 'slow-3']);
    expect(await claimedOf(calls, { slowLimit: 2, largeSlowLimit: 0 })).toEqual(['slow-3', 'slow-4']);
  });
});
