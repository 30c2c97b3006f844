import { KubeClient } from '#lib/kube';
import { RestError, type RestRequests } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { readPulse } from './look-at-programs.js';

const METRICS = 'metrics of programs in a cluster are read by its Prometheus: see docs/reference/metrics.md';

async function pulseOfCluster(request: () => Promise<unknown>): Promise<readonly string[]> {
  const client = new KubeClient(
    {
      server: 'http://127.0.0.1:9',
      namespace: 'default',
      auth: { authorization: () => Promise.resolve(undefined) },
    },
    { fieldManager: 'test' },
  );
  const rest = { request } as RestRequests;
  const { signal } = new AbortController();
  try {
    for await (const lines of readPulse(undefined, { client, rest, clock: systemClock, signal }))
      return lines;
    return [];
  } finally {
    await client.close();
  }
}

describe('the pulse of a platform in a cluster', () => {
  it('shows what the api would have an administrator mend, with the statement', async () => {
    const warnings = [{ message: 'databases are open', mend: 'REVOKE CONNECT' }];
    expect(await pulseOfCluster(() => Promise.resolve({ warnings }))).toEqual([
      METRICS,
      '',
      'warnings:',
      '  databases are open: REVOKE CONNECT',
    ]);
  });

  it.each([403, 404])('shows none of an api that answers %i', async (status) => {
    expect(await pulseOfCluster(() => Promise.reject(new RestError(status, 'no')))).toEqual([METRICS]);
  });

  it('shows that the api did not answer', async () => {
    expect(await pulseOfCluster(() => Promise.reject(new Error('down')))).toContain(
      '  reading the warnings of the api failed: down',
    );
  });
});
