import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Client, RunTree } from 'langsmith';
import { addFinalizer } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { TestTenant } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

describe('the trace routes', () => {
  const { api, tenant } = testApi();

  const sdk = (prefix = '') => new Client({ apiUrl: api.url + prefix, apiKey: tenant.key });
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const read = async (id: string, prefix = ''): Promise<any> =>
    waitFor(async () => {
      const answer = await tenant.call('GET', `${prefix}/runs/${id}`);
      return answer.status === 200 ? (answer.json as unknown) : undefined;
    });

  it.each(['', '/api/v1'])('stores what the SDK sends to %j/runs/multipart', async (prefix) => {
    const client = sdk(prefix);
    const parent = new RunTree({
      name: 'agent',
      run_type: 'chain',
      inputs: { q: 'hé' },
      client,
      project_name: 'demo',
    });
    await parent.postRun();
    const child = parent.createChild({
      name: 'model',
      run_type: 'llm',
      inputs: { m: 1 },
      tags: ['t'],
      metadata: { thread_id: 'th' },
    });
    await child.postRun();
    await child.end({ y: 1, usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } });
    await child.patchRun();
    await parent.end(undefined, 'Error: boom');
    await parent.patchRun();
    await client.awaitPendingTraceBatches();
    const stored = await read(child.id, prefix);
    expect(stored).toMatchObject({
      name: 'model',
      run_type: 'llm',
      status: 'success',
      inputs: { m: 1 },
      outputs: { y: 1, usage_metadata: { total_tokens: 7 } },
      total_tokens: 7,
      prompt_tokens: 3,
      completion_tokens: 4,
      trace_id: parent.id,
      parent_run_id: parent.id,
      parent_run_ids: [parent.id],
      thread_id: 'th',
      tags: ['t'],
    });
    expect(await read(parent.id)).toMatchObject({
      status: 'error',
      error: 'Error: boom',
      inputs: { q: 'hé' },
    });
    const project = await client.readProject({ projectName: 'demo' });
    expect(project.id).toBe(stored.session_id);
  });

  it('stores runs that end long after they began, sent in two requests', async () => {
    const client = sdk();
    const run = new RunTree({ name: 'slow', run_type: 'tool', inputs: { a: 1 }, client });
    await run.postRun();
    await client.awaitPendingTraceBatches();
    expect(await read(run.id)).toMatchObject({ status: 'pending', outputs: null, end_time: null });
    await run.end({ b: 2 });
    await run.patchRun();
    await client.awaitPendingTraceBatches();
    await waitFor(async () => (await read(run.id)).status === 'success');
    expect(await read(run.id)).toMatchObject({ inputs: { a: 1 }, outputs: { b: 2 } });
  });

  it('stores plain runs of the SDK, without trace id or dotted order', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key, autoBatchTracing: false });
    const id = randomUUID();
    await client.createRun({ id, name: 'plain', run_type: 'chain', inputs: { a: 1 }, project_name: 'demo' });
    await client.updateRun(id, { outputs: { b: 1 }, end_time: Date.now() });
    expect(await read(id)).toMatchObject({
      status: 'success',
      trace_id: id,
      inputs: { a: 1 },
      outputs: { b: 1 },
    });
  });

  it('stores batches', async () => {
    const id = randomUUID();
    const post = [
      { id, trace_id: id, name: 'b', run_type: 'chain', start_time: '2026-01-01T00:00:00Z', inputs: {} },
    ];
    const patch = [{ id, trace_id: id, outputs: { x: 1 }, end_time: '2026-01-01T00:00:01Z' }];
    expect((await tenant.call('POST', '/runs/batch', { post, patch })).status).toBe(202);
    expect(await read(id)).toMatchObject({
      status: 'success',
      outputs: { x: 1 },
      session_id: expect.any(String),
    });
  });

  it('returns payloads byte for byte', async () => {
    const id = randomUUID();
    const body = `{"id":"${id}","name":"n","run_type":"chain","inputs":{"n": 1.0, "big":12345678901234567890}}`;
    expect((await tenant.call('POST', '/runs', body)).status).toBe(202);
    expect((await tenant.call('GET', `/runs/${id}`)).text).toContain(
      '"inputs":{"n": 1.0, "big":12345678901234567890}',
    );
  });

  it('names every wrong field of a run', async () => {
    const answer = await tenant.call('POST', '/runs', { id: 'x', start_time: 'never', tags: 1 });
    expect(answer.status).toBe(422);
    expect(
      answer.json.detail.map((problem: { loc: string[]; type: string }) => [
        problem.loc.join('.'),
        problem.type,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['body.id', 'uuid_parsing'],
        ['body.start_time', 'datetime_parsing'],
        ['body.tags', 'list_type'],
        ['body.name', 'missing'],
      ]),
    );
  });

  const multipart = (parts: [name: string, body: string, headers?: string][], boundary = 'XX'): string =>
    parts
      .map(([name, body, headers]) => {
        const length = headers ?? `Content-Type: application/json; length=${Buffer.byteLength(body)}`;
        return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n${length}\r\n\r\n${body}\r\n`;
      })
      .join('') + `--${boundary}--\r\n`;
  const sendMultipart = (body: string, headers: Record<string, string> = {}) =>
    tenant.call('POST', '/runs/multipart', body, {
      'content-type': 'multipart/form-data; boundary=XX',
      ...headers,
    });

  it('stores parts with a Content-Length header and parts without any length', async () => {
    const id = randomUUID();
    const run = JSON.stringify({
      id,
      trace_id: id,
      name: 'n',
      run_type: 'chain',
      start_time: '2026-01-01T00:00:00Z',
    });
    const inputs = '{"a":"--X\\r\\n"}';
    const body = multipart([
      [`post.${id}`, run, 'Content-Type: application/json'],
      [`post.${id}.inputs`, inputs, `Content-Length: ${inputs.length}\r\nContent-Type: application/json`],
      [`attachment.${id}.file`, 'binary', 'Content-Type: text/plain; length=6'],
    ]);
    expect((await sendMultipart(body)).json).toMatchObject({ not_kept: { attachments: 1 } });
    expect(await read(id)).toMatchObject({ inputs: { a: '--X\r\n' } });
  });

  it('stores a run of the SDK that has attachments, and answers that these were not kept', async () => {
    const client = sdk();
    const id = randomUUID();
    const run = new RunTree({
      id,
      name: 'with a picture',
      run_type: 'chain',
      inputs: { a: 1 },
      client,
      attachments: { picture: ['image/png', new Uint8Array([1, 2, 3])] },
    });
    await run.postRun();
    await client.awaitPendingTraceBatches();
    expect(await read(id)).toMatchObject({ inputs: { a: 1 } });
  });

  it('answers reads of the SDK', async () => {
    const id = randomUUID();
    const time = '2026-01-01T00:00:00.123456Z';
    await tenant.call('POST', '/runs', {
      id,
      name: 'n',
      run_type: 'chain',
      start_time: time,
      inputs: { a: 1 },
    });
    const run = await sdk().readRun(id);
    expect(run).toMatchObject({ id, name: 'n', inputs: { a: 1 }, outputs: null });
    expect(await sdk('/api/v1').getRunUrl({ runId: id })).toContain(`/r/${id}`);
  });

  it.each([
    ['POST', '/sessions', { name: 'a\u0000b' }, 422],
    ['POST', '/sessions', { name: '\ud800' }, 422],
    ['POST', '/sessions', { name: 'described', description: 'a\u0000b', extra: { a: '\u0000\ud800' } }, 422],
    ['POST', '/sessions', { name: 'more', extra: { a: '\u0000' } }, 422],
    ['POST', '/sessions', { name: 'half', extra: { a: '\ud800' } }, 422],
    ['POST', '/sessions', '{"name": "twice", "extra": {"a": 1, "a": 2}}', 422],
    ['POST', '/sessions', '{"name": "deep", "extra": {"a": {"__proto__": 2}}}', 422],
    ['POST', '/sessions', { name: 'large', extra: { a: 'x'.repeat(65_536) } }, 422],
    ['GET', '/sessions?name=%00', undefined, 422],
    ['GET', '/sessions?name_contains=%00', undefined, 422],
    ['GET', '/sessions?name_contains=%25', undefined, 200],
    ['GET', '/sessions?name=%ff', undefined, 200],
    ['GET', '/sessions?id=x,%00', undefined, 200],
    ['GET', '/sessions?name=a&name=b', undefined, 422],
    ['GET', '/sessions?offset=1e20', undefined, 422],
    ['GET', '/sessions/%00', undefined, 422],
    ['PATCH', '/runs/x', {}, 422],
    ['POST', '/runs', '[]', 422],
    ['POST', '/runs', 'null', 422],
    ['POST', '/runs/batch', '{"post":{}}', 422],
    ['POST', '/runs/batch', '{"post":null,"patch":[]}', 202],
    ['POST', '/runs/batch', '{"post":[],"post":[]}', 202],
    ['POST', '/runs/batch', '', 400],
  ])('answers %s %s %j with %i', async (method, path, body, status) => {
    expect((await tenant.call(method, path, body, { 'content-type': 'application/json' })).status).toBe(
      status,
    );
  });

  it.each<[string, () => string, number]>([
    ['a body that ends too early', () => multipart([[`post.${randomUUID()}`, '{}']]).slice(0, -12), 422],
    [
      'a length that is a lie',
      () => multipart([[`post.${randomUUID()}`, '{}', 'Content-Type: x/y; length=1']]),
      422,
    ],
    ['a part without a name', () => '--XX\r\nContent-Type: a/b; length=2\r\n\r\n{}\r\n--XX--\r\n', 422],
    ['a part of an unknown kind', () => multipart([['put.me', '{}']]), 422],
    [
      'a part that is longer than all',
      () => multipart([['post.x', '{}', 'Content-Type: x/y; length=99999999999']]),
      413,
    ],
    ['no multipart at all', () => 'hello', 422],
  ])('refuses %s', async (_name, body, status) => {
    expect((await sendMultipart(body())).status).toBe(status);
  });

  it('answers unknown encodings and content types with 415', async () => {
    expect((await sendMultipart('x', { 'content-encoding': 'br' })).status).toBe(415);
    const gzip = { 'content-encoding': 'gzip' };
    expect((await tenant.call('POST', '/sessions', { name: 'x' }, gzip)).status).toBe(415);
    expect(
      (await tenant.call('POST', '/runs', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }))
        .status,
    ).toBe(415);
  });

  it('describes what it supports without a key', async () => {
    for (const path of ['/info', '/api/v1/info']) {
      const info = (await (await fetch(api.url + path)).json()) as { batch_ingest_config: unknown };
      expect(info).toMatchObject({
        batch_ingest_config: { use_multipart_endpoint: true },
        instance_flags: { gzip_body_enabled: true, zstd_compression_enabled: true },
      });
    }
  });

  it('requires a key everywhere else, and hides objects of other tenants', async () => {
    const other = await api.workspace();
    const id = randomUUID();
    await tenant.call('POST', '/runs', { id, name: 'n', run_type: 'chain' });
    const missing = (await tenant.call('GET', `/runs/${randomUUID()}`)).text.replace(/[0-9a-f-]{36}/, 'ID');
    expect((await other.call('GET', `/runs/${id}`)).text.replace(/[0-9a-f-]{36}/, 'ID')).toBe(missing);
    expect(
      (await tenant.call('GET', `/runs/${id}`, undefined, { 'x-tenant-id': other.tenantId })).status,
    ).toBe(404);
    expect(
      (await tenant.call('GET', `/runs/${id}`, undefined, { 'X-Tenant-Id': tenant.tenantId })).status,
    ).toBe(200);
    for (const key of ['', 'apk_x', `${tenant.key}x`]) {
      const answer = await fetch(`${api.url}/runs/${id}`, { headers: key ? { 'X-API-Key': key } : {} });
      expect([key, answer.status]).toEqual([key, 401]);
    }
    expect((await fetch(`${api.url}/nowhere`)).status).toBe(401);
    expect((await tenant.call('GET', '/nowhere')).json).toEqual({ detail: 'Not Found' });
  });

  it('verifies keys of every scope', async () => {
    const { key, id } = await api.store.apiKeys.mint(tenant.tenantId, {
      name: 'd',
      scope: 'deployment',
      deployment: 'sample',
      project: 'Sample',
    });
    const as = (method: string, path: string) => tenant.call(method, path, undefined, { 'x-api-key': key });
    expect((await as('POST', '/auth/verify')).json).toEqual({
      tenant_id: tenant.tenantId,
      key_id: id,
      scope: 'deployment',
      deployment: 'sample',
      project: 'Sample',
    });
    expect((await tenant.call('POST', '/auth/verify')).json).toEqual({
      tenant_id: tenant.tenantId,
      key_id: expect.any(String),
      scope: 'workspace',
    });
  });

  it('refuses keys of a workspace that is deleted or terminating', async () => {
    const { client } = api;
    const [gone, going] = [await api.workspace(), await api.workspace()];
    for (const { call } of [gone, going]) expect((await call('GET', '/sessions')).status).toBe(200);
    const nameOf = ({ tenantId }: TestTenant) => `w${tenantId.slice(0, 8)}`;
    const held = await client.find(RESOURCES.Workspace, { name: nameOf(going) });
    if (!held) throw new Error('no workspace');
    await addFinalizer(client, RESOURCES.Workspace, held, 'example.com/held');
    for (const each of [gone, going]) {
      await client.delete(RESOURCES.Workspace, { name: nameOf(each) });
      await waitFor(async () => (await each.call('GET', '/sessions')).status === 401);
      expect((await each.call('POST', '/auth/verify')).status).toBe(401);
    }
    expect((await tenant.call('GET', '/sessions')).status).toBe(200);
  });

  it('stores projects', async () => {
    const made = await tenant.call('POST', '/sessions', { name: 'p1', description: 'd', extra: { a: 1 } });
    expect([made.status, made.json.name, made.json.extra]).toEqual([200, 'p1', { a: 1 }]);
    expect((await tenant.call('POST', '/sessions', { name: 'p1' })).status).toBe(409);
    expect((await tenant.call('POST', '/sessions?upsert=true', { name: 'p1' })).json.id).toBe(made.json.id);
    expect((await tenant.call('GET', '/api/v1/sessions?name=p1')).json).toHaveLength(1);
    expect((await tenant.call('GET', `/sessions/${made.json.id}`)).json).toEqual(made.json);
    expect((await tenant.call('GET', '/sessions?limit=1000')).status).toBe(422);
    expect((await tenant.call('DELETE', `/sessions/${made.json.id}`)).status).toBe(202);
    expect((await tenant.call('GET', `/sessions/${made.json.id}`)).status).toBe(404);
  });

  it('keeps the id of a project apart in every workspace', async () => {
    const id = randomUUID();
    const other = await api.workspace();
    expect((await tenant.call('POST', '/sessions', { name: 'mine', id })).json.id).toBe(id);
    const theirs = await other.call('POST', '/sessions', { name: 'theirs', id });
    expect([theirs.status, theirs.json.id, theirs.json.name]).toEqual([200, id, 'theirs']);
    const run = { id: randomUUID(), name: 'r', run_type: 'chain', session_id: id };
    expect((await other.call('POST', '/runs', run)).status).toBe(202);
    expect((await other.call('GET', `/runs/${run.id}`)).json.session_id).toBe(id);
    expect((await tenant.call('GET', `/runs/${run.id}`)).status).toBe(404);
    expect((await other.call('DELETE', `/sessions/${id}`)).status).toBe(202);
    expect((await tenant.call('GET', `/sessions/${id}`)).json.name).toBe('mine');
    expect((await tenant.call('POST', '/sessions', { name: 'again', id })).status).toBe(409);
  });

  it('serves its own OpenAPI document', async () => {
    const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
      paths: Record<string, unknown>;
    };
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        '/runs/multipart',
        '/api/v1/runs/{run_id}',
        '/v2/deployments',
        '/api/v1/bulk-exports/{export_id}/runs',
      ]),
    );
  });
});
