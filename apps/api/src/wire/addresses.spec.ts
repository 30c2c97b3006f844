import { describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';
import { isVendorsAddress, rewriteAddress } from './addresses.js';

describe('addresses of a self-hosted LangSmith', () => {
  const { api, tenant } = testApi();

  it.each([
    ['/api-host/v2/deployments?limit=1', '/v2/deployments?limit=1', true],
    ['/api-host', '/ok', true],
    ['/api-host?x=1', '/ok?x=1', true],
    ['/api-hosts', '/api-hosts', false],
    ['/api/runs/batch', '/api/v1/runs/batch', false],
    ['/api/v1/runs', '/api/v1/runs', false],
    ['/api/v2/runs/query', '/api/v2/runs/query', false],
    ['/api/v10/x', '/api/v1/v10/x', false],
    ['/api', '/api', false],
    ['/', '/ok', false],
    ['/v1/integrations/github/install', '/v1/integrations/git_host/install', true],
    ['/api-host/v1/integrations/forge/github/install', '/v1/integrations/git_host/install', true],
    ['/v2/deployments', '/v2/deployments', false],
  ])('reads %s as %s', (url, address, isVendors) => {
    const request = { url };
    expect([rewriteAddress(request), isVendorsAddress(request)]).toEqual([address, isVendors]);
  });

  it.each([
    ['GET', '/', 200],
    ['GET', '/api/info', 200],
    ['GET', '/api-host/v2/deployments', 200],
    ['GET', '/api-host/v2/listeners', 200],
    ['GET', '/v1/integrations/github/install', 200],
    ['GET', '/v1/integrations/github/6a1f5c3e-0000-4000-8000-000000000000/repos', 501],
    ['GET', '/v2/auth/providers', 501],
    ['GET', '/v2/integrations/github/installations', 501],
    ['GET', '/api/runs/threads/a-thread?select=all_messages&session_id=x', 501],
    ['POST', '/api-host/v2/auth/authenticate', 501],
    ['GET', '/api/sessions', 200],
    ['POST', '/api/runs', 202],
  ])('serves %s %s with %d', async (method, path, status) => {
    const body = { id: '6a1f5c3e-0000-4000-8000-000000000001', name: 'n', run_type: 'chain' };
    const answer = await fetch(api.url + path, {
      method,
      headers: { 'x-api-key': tenant.key, 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
    });
    expect(answer.status).toBe(status);
  });

  it('needs a key wherever the address that it stands for does', async () => {
    for (const path of ['/api-host/v2/deployments', '/api/sessions'])
      expect((await fetch(api.url + path)).status).toBe(401);
    expect(await (await fetch(api.url)).json()).toEqual({ ok: true });
  });
});
