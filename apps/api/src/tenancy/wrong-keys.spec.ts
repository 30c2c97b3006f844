import { describe, expect, it } from '@jest/globals';
import { mintApiKey } from '#lib/auth';
import { testApi } from '../testdata/test-api.js';

describe('an api that is sent wrong keys', () => {
  const { api, tenant } = testApi();

  it('answers 429 beyond the limit, and serves the valid keys of the same address', async () => {
    const ask = (key: string) => fetch(`${api.url}/sessions`, { headers: { 'x-api-key': key } });
    expect((await ask(tenant.key)).status).toBe(200);
    const statuses: number[] = [];
    for (let n = 0; n < 200; n++) statuses.push((await ask(mintApiKey().key)).status);
    expect(statuses.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 401));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20);
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask('apk_malformed')));
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused?.json()).toEqual({ detail: expect.stringMatching(/^Too many wrong API keys/) });
    for (let n = 0; n < 30; n++) expect((await ask(tenant.key)).status).toBe(200);
  });
});
