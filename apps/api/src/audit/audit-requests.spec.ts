import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { routeAccess } from '../wire/route-access.js';
import { OPERATOR_KEY } from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const folder = temporaryFolder();
const path = join(folder, 'audit-api.log');

describe('the audit log of REST', () => {
  const { api, tenant } = testApi({ auditPath: path });

  const read = (file: string): string => readFileSync(file, { encoding: 'utf8', flag: 'a+' });
  const ofTenant = (): string => join(folder, 'audit-api', `${tenant.tenantId}.log`);
  const ofLimited = (): string => join(folder, 'audit-api', `${tenant.tenantId}-limited.log`);
  /** Text of the tenant's file, of the file of its keys of other scopes, then of the platform's. */
  const text = (): string =>
    [ofTenant(), ofLimited(), path].map((file) => (existsSync(file) ? read(file) : '')).join('');
  const records = (): unknown[] =>
    text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  const lastOf = async (work: () => Promise<unknown>): Promise<unknown> => {
    const before = records();
    await work();
    const after = records();
    expect(after.length).toBe(before.length + 1);
    return after.find((one) => !before.some((older) => isDeepStrictEqual(older, one)));
  };

  it('names who made what, from where, and how it ended', async () => {
    const headers = { 'x-request-id': 'the-request', 'user-agent': 'a client' };
    const found = await lastOf(() => tenant.call('POST', '/sessions', { name: 'a-secret-name' }, headers));
    const [{ id }] = (await tenant.call('GET', '/sessions')).json;
    expect(found).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      program: 'api',
      request: 'the-request',
      actor: {
        kind: 'api-key',
        id: tenant.key.split('_')[1],
        name: expect.any(String),
        scope: 'workspace',
        tenant: tenant.tenantId,
      },
      action: { verb: 'POST', target: '/sessions', ids: { id } },
      source: { address: '127.0.0.1', userAgent: 'a client' },
      outcome: { status: 200 },
    });
    expect(text()).not.toContain('a-secret-name');
    expect(await lastOf(() => tenant.call('DELETE', `/sessions/${id}`))).toMatchObject({
      action: { verb: 'DELETE', target: '/sessions/{session_id}', ids: { session_id: id } },
      outcome: { status: 202 },
    });
  });

  it('records forms of pages that change something, with the key of the session', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' };
    const form = (target: string, cookie: string, body = new URLSearchParams()): Promise<Response> =>
      fetch(api.url + target, {
        method: 'POST',
        redirect: 'manual',
        headers: { ...headers, cookie },
        body,
      });
    const signedIn = await form('/sign-in', '', new URLSearchParams({ key: tenant.key }));
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const target = `/o/${tenant.tenantId}/projects/p/${randomUUID()}/r/${randomUUID()}/share`;
    expect(await lastOf(() => form(target, cookie))).toMatchObject({
      actor: { kind: 'api-key', id: tenant.key.split('_')[1], scope: 'workspace' },
      action: { verb: 'POST', target: '/o/{tenant_id}/projects/p/{session_id}/r/{run_id}/share' },
      outcome: { status: 404 },
    });
    const before = text();
    await form(target, '');
    expect(text()).toBe(before);
  });

  it('names members of a body that were ignored, without their values', async () => {
    const body = { compute_id: 'audited', novel: 'canary' };
    const found = await lastOf(() => tenant.call('POST', '/v2/listeners', body));
    expect(found).toMatchObject({ outcome: { status: 201, ignored: 'novel' } });
    expect(text()).not.toContain('canary');
  });

  it('keeps keys out, also those that it records the making of', async () => {
    let made: { id: string; key: string } = { id: '', key: '' };
    const found = await lastOf(async () => {
      made = (await tenant.call('POST', '/api/v1/api-key', { description: 'x', scope: 'read' })).json;
    });
    expect(found).toMatchObject({ action: { target: '/api/v1/api-key', ids: { id: made.id } } });
    expect(text()).not.toContain(made.key);
    expect(text()).not.toContain(tenant.key);
    const as = { 'x-api-key': made.key };
    expect(await lastOf(() => tenant.call('POST', '/sessions', { name: 'x' }, as))).toMatchObject({
      actor: { kind: 'api-key', id: made.id, name: 'x', scope: 'read' },
      outcome: { status: 403, reason: expect.stringContaining('scope read') },
    });
  });

  it('records the operator, refusals and wrong fields without their values', async () => {
    const operator = { 'x-api-key': OPERATOR_KEY, 'x-tenant-id': tenant.tenantId };
    expect(
      await lastOf(() => tenant.call('DELETE', '/api/v1/api-key/none?token=canary', undefined, operator)),
    ).toMatchObject({
      actor: { kind: 'operator-key', tenant: tenant.tenantId },
      outcome: { status: 422, reason: 'query.token extra_forbidden' },
    });
    expect(text()).not.toContain('canary');
    const id = randomUUID();
    expect(await lastOf(() => tenant.call('DELETE', `/v2/deployments/${id}`))).toMatchObject({
      action: { ids: { deployment_id: id } },
      outcome: { status: 404 },
    });
  });

  it('keeps the records of tenants and of refused keys apart from those of the platform', async () => {
    const operator = { 'x-api-key': OPERATOR_KEY, 'x-tenant-id': tenant.tenantId };
    await tenant.call('DELETE', '/api/v1/api-key/absent', undefined, operator);
    await tenant.call('POST', '/sessions', { name: 'y' }, { ...operator, 'user-agent': 'a guess' });
    expect(read(path)).toContain('"kind":"operator-key"');
    expect(read(path)).not.toContain('"kind":"api-key"');
    expect(read(join(folder, 'audit-api', 'refused.log'))).toContain('a guess');
    expect(read(ofTenant())).not.toContain('operator-key');
  });

  it.each([
    ['read', []],
    ['ingest', ['POST /feedback/tokens']],
  ] as const)('leaves out every question and what is data of a key of scope %s', async (scope, recorded) => {
    const { key } = (await tenant.call('POST', '/api/v1/api-key', { description: 'x', scope })).json;
    const routes = [...routeAccess()]
      .filter(
        ([route, access]) =>
          !route.startsWith('GET') && access.kind === 'key' && access.scopes.includes(scope),
      )
      .map(([route]) => route);
    expect(routes.length).toBeGreaterThan(5);
    const before = text();
    for (const route of routes) {
      const [method = '', pattern = ''] = route.split(' ');
      await tenant.call(method, pattern.replace(/{\w+}/g, randomUUID()), {}, { 'x-api-key': key });
    }
    const found = text();
    for (const route of routes) {
      const target = JSON.stringify({ target: route.slice(route.indexOf(' ') + 1) }).slice(1, -1);
      const isNew = found.split(target).length > before.split(target).length;
      expect([route, isNew]).toEqual([route, recorded.some((one) => one === route)]);
    }
  });

  it('records what keys of other scopes change in a file of their own', async () => {
    const { key } = (await tenant.call('POST', '/api/v1/api-key', { description: 'x', scope: 'ingest' }))
      .json;
    const before = read(ofTenant());
    await tenant.call('POST', '/sessions', { name: 'of-a-program' }, { 'x-api-key': key });
    expect(read(ofTenant())).toBe(before);
    expect(read(ofLimited())).toContain('"scope":"ingest"');
  });

  it('leaves out reads, runs, and requests without a valid key', async () => {
    const before = records().length;
    await tenant.call('GET', '/sessions');
    await tenant.call('POST', '/auth/verify');
    await tenant.call('POST', '/runs', { id: randomUUID(), name: 'n', run_type: 'chain' });
    await fetch(`${api.url}/sessions`, { method: 'POST', headers: { 'x-api-key': 'wrong' } });
    await fetch(`${api.url}/nothing`, { method: 'POST', headers: { 'x-api-key': tenant.key } });
    expect(records().length).toBe(before);
  });
});
