import { describe, expect, it } from '@jest/globals';
import { parseApiKey, renderAgentToken } from '#lib/auth';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();
const inMs = (ms: number): number => Date.now() + ms;

async function keyOf(scope: 'workspace' | 'read') {
  const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: scope, scope });
  const parsed = parseApiKey(key);
  if (!parsed) throw new Error('the key is not one');
  return parsed;
}

const call = (token: string, method = 'POST', path = '/auth/verify') =>
  tenant.call(method, path, undefined, { 'x-api-key': token });

describe('a token for an agent', () => {
  it('names its agent, its key and its end once verified', async () => {
    const key = await keyOf('workspace');
    const { status, json } = await call(renderAgentToken(key, { agent: 'tärget', untilMs: inMs(60_000) }));
    expect([status, json]).toEqual([
      200,
      {
        tenant_id: tenant.tenantId,
        key_id: key.id,
        scope: 'workspace',
        agent: 'tärget',
        expires_in_ms: expect.any(Number) as unknown,
      },
    ]);
    expect((json as { expires_in_ms: number }).expires_in_ms).toBeLessThanOrEqual(60_000);
  });

  it('opens no other route', async () => {
    const token = renderAgentToken(await keyOf('workspace'), { agent: 'a', untilMs: inMs(60_000) });
    for (const [method, path] of [
      ['GET', '/sessions'],
      ['GET', '/v2/deployments'],
      ['GET', '/api/v1/api-key'],
      ['GET', '/api/v1/workspaces/current'],
    ] as const)
      expect((await call(token, method, path)).status).toBe(403);
  });

  it('ends with its time and with its key', async () => {
    const key = await keyOf('read');
    expect((await call(renderAgentToken(key, { agent: 'a', untilMs: inMs(-1) }))).status).toBe(401);
    const token = renderAgentToken(key, { agent: 'a', untilMs: inMs(60_000) });
    expect((await call(token)).status).toBe(200);
    await api.store.apiKeys.revoke(tenant.tenantId, key.id);
    expect((await call(token)).status).toBe(401);
  });

  it('opens no session of pages', async () => {
    const key = renderAgentToken(await keyOf('workspace'), { agent: 'a', untilMs: inMs(60_000) });
    const body = new URLSearchParams({ key });
    const answer = await fetch(`${api.url}/sign-in`, { method: 'POST', redirect: 'manual', body });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
  });
});
