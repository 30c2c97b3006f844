import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { PAGE } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const { api, tenant } = testApi();

const sdk = () => new Client({ apiUrl: api.url, apiKey: tenant.key, autoBatchTracing: false });

describe('POST /runs/batch', () => {
  it.each<[string, string, string, string]>([
    ['has neither posts nor patches', '{}', 'post', 'missing'],
    ['misspells a member', '{"posts": [], "patch": []}', 'posts', 'extra_forbidden'],
    ['has a member of its prototype', '{"post": [], "__proto__": []}', '__proto__', 'extra_forbidden'],
  ])('refuses a body by the name of its mistake when it %s', async (_, body, member, type) => {
    const { status, json } = await tenant.call('POST', '/runs/batch', body);
    expect([status, json.detail]).toEqual([422, [{ loc: ['body', member], msg: expect.any(String), type }]]);
  });
});

describe('a tracing project', () => {
  it('takes description and extra of an upsert when it exists', async () => {
    const first = await sdk().createProject({ projectName: 'named twice', description: 'one' });
    const again = await sdk().createProject({
      projectName: 'named twice',
      description: 'two',
      metadata: { team: 'a' },
      upsert: true,
    });
    expect(again.id).toBe(first.id);
    expect((await tenant.call('GET', `/sessions/${first.id}`)).json).toMatchObject({
      description: 'two',
      extra: { metadata: { team: 'a' } },
    });
  });

  it('changes as the SDK asks and keeps the rest', async () => {
    const start = '2026-01-01T00:00:00.000Z';
    const body = { name: 'evolving', description: 'd', start_time: start, trace_tier: 'longlived' };
    const { id } = (await tenant.call('POST', '/sessions', body)).json;
    await sdk().updateProject(id, { metadata: { a: 1 }, endTime: '2026-01-02T00:00:00Z' });
    await sdk().updateProject(id, { name: 'evolved' });
    expect((await tenant.call('GET', `/sessions/${id}`)).json).toMatchObject({
      name: 'evolved',
      description: 'd',
      extra: { metadata: { a: 1 } },
      start_time: start,
      end_time: '2026-01-02T00:00:00.000Z',
      trace_tier: 'longlived',
    });
  });

  it('refuses names of others, unknown members and unknown ids', async () => {
    const { id } = (await tenant.call('POST', '/sessions', { name: 'mine' })).json;
    await tenant.call('POST', '/sessions', { name: 'taken' });
    const patch = async (at: string, body: object): Promise<number> =>
      (await tenant.call('PATCH', `/sessions/${at}`, body)).status;
    expect(await patch(id, { name: 'taken' })).toBe(409);
    expect(await patch(id, { title: 'x' })).toBe(422);
    expect(await patch(id, {})).toBe(200);
    expect(await patch(randomUUID(), { name: 'x' })).toBe(404);
    const other = await api.workspace();
    expect((await other.call('PATCH', `/sessions/${id}`, { name: 'theirs' })).status).toBe(404);
  });

  it('takes runs of its old name no more once it is renamed', async () => {
    const { id } = (await tenant.call('POST', '/sessions', { name: 'old name' })).json;
    const send = async (name: string): Promise<string> => {
      const run = { id: randomUUID(), name: 'r', run_type: 'chain', session_name: name };
      await tenant.call('POST', '/runs', run);
      return (await tenant.call('GET', `/runs/${run.id}`)).json.session_id as string;
    };
    expect(await send('old name')).toBe(id);
    await tenant.call('PATCH', `/sessions/${id}`, { name: 'new name' });
    expect(await send('new name')).toBe(id);
    expect(await send('old name')).not.toBe(id);
  });
});

describe('what is not built yet', () => {
  const call = (method: string, path: string, headers: Record<string, string> = {}) =>
    fetch(api.url + path, { method, headers: { 'x-api-key': tenant.key, ...headers } });

  it.each([
    ['POST', '/api/v1/annotation-queues', 'annotation queues are'],
    ['PUT', `/datasets/${randomUUID()}/share`, 'shared datasets are'],
    ['POST', '/datasets/comparative', 'comparisons of experiments are'],
    ['POST', '/api/v1/prompt-webhooks/test', 'webhooks of prompts are'],
    ['GET', '/api/v1/runs/rules', 'rules of projects are'],
    ['GET', '/api/v1/runs/rules/decision-models', 'rules of projects are'],
    ['GET', '/api/v2/runs/rules', 'rules of projects are'],
    ['PATCH', `/api/v1/workspaces/current/tag-keys/${randomUUID()}`, 'tags of resources are'],
    ['GET', '/workspaces/current/tags', 'tags of resources are'],
    ['POST', '/api/v1/platform/product-feedbacks', 'feedback about the product are'],
    ['POST', '/api/v2/ai-search/parse', 'searches in words are'],
    ['POST', '/v2/sql/query', 'queries in SQL are'],
    ['POST', `/v1/fleet/threads/${randomUUID()}/sandbox-activation`, 'agents of a fleet are'],
  ])('answers %s %s with 501 and a sentence', async (method, path, sentence) => {
    const answer = await call(method, path, { 'content-type': 'text/csv' });
    expect([answer.status, await answer.json()]).toEqual([
      501,
      { detail: expect.stringContaining(`${sentence} not supported by this platform`) },
    ]);
  });

  it('asks for a key first, and takes one of any scope', async () => {
    expect((await call('POST', '/annotation-queues', { 'x-api-key': 'apk_wrong' })).status).toBe(401);
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'i', scope: 'ingest' });
    expect((await call('POST', '/annotation-queues', { 'x-api-key': key })).status).toBe(501);
  });
});

describe('a web page', () => {
  const preflight = (origin: string) =>
    fetch(`${api.url}/api/v1/runs/batch`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-api-key',
      },
    });

  it('may send and read when its origin is allowed', async () => {
    const allowed = await preflight(PAGE);
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-headers': 'content-type,x-api-key',
      'access-control-allow-methods': expect.stringContaining('PATCH'),
      vary: 'origin',
      'x-request-id': expect.any(String),
    });
    for (const headers of [{}, { 'x-api-key': tenant.key }] as Record<string, string>[]) {
      const answer = await fetch(`${api.url}/sessions`, { headers: { origin: PAGE, ...headers } });
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE);
      expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
    }
  });

  it('learns nothing when its origin is another', async () => {
    const refused = await preflight('https://pages.example.evil');
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, null]);
  });
});

describe('a bearer key', () => {
  it('opens what X-Api-Key opens', async () => {
    const as = async (authorization: string): Promise<number> =>
      (await fetch(`${api.url}/sessions`, { headers: { authorization } })).status;
    expect(await as(`Bearer ${tenant.key}`)).toBe(200);
    expect(await as(`bearer  ${tenant.key}`)).toBe(200);
    expect(await as(`Basic ${tenant.key}`)).toBe(401);
    expect(await as(`Bearer ${tenant.key}x`)).toBe(401);
  });
});
