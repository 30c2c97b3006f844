import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { KEY_SCOPES, type KeyScope } from '#lib/auth';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { testApi } from '../testdata/test-api.js';
import { requireAccess, routeAccess, routeName, scopesOf } from '../wire/route-access.js';

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
};

/** Method and path of every route that needs a key. */
const ROUTES = Object.entries(document.paths)
  .flatMap(([path, item]) => Object.keys(item).map((method) => [method.toUpperCase(), path] as const))
  .filter(([method, path]) => routeAccess().get(routeName(method, path))?.kind !== 'public');

const SCOPED = ROUTES.filter(([method, path]) => scopesOf(routeName(method, path)).length > 1);

/** POST, and changes nothing. */
const READING =
  /(\/(query|stats|group|estimate|(build|deploy)_logs)|\/\{dataset_id\}\/(experiment-)?runs|\/sign\/(projects\/\{project_id\}|\{export_id\}))$/;

describe('access of routes', () => {
  it('names every route of the OpenAPI document that needs a key, and no other', () => {
    const documented = new Set(ROUTES.map(([method, path]) => routeName(method, path)));
    const named = [...routeAccess()].filter(([, { kind }]) => kind === 'key').map(([route]) => route);
    expect(named.sort()).toEqual([...documented].sort());
  });

  it('has a reason for every route without a key', () => {
    for (const [route, access] of routeAccess())
      if (access.kind === 'public')
        expect([route, access.reason]).toEqual([route, expect.stringMatching(/ /)]);
  });

  it('opens a route without an entry to keys of the workspace only', () => {
    for (const route of ['GET /v2/new', 'PUT /runs', 'GET ', 'toString', '__proto__'])
      expect(scopesOf(route)).toEqual(['workspace']);
  });

  it('lets no server start with a handler that declares none', async () => {
    @Controller('x')
    class Undeclared {
      @Get()
      @RouteConfig({ countsAnswer: true })
      get(): string {
        return '';
      }
    }
    @Module({ controllers: [Undeclared] })
    class UndeclaredModule {}
    const adapter = new FastifyAdapter();
    requireAccess(adapter.getInstance<FastifyInstance>());
    const application = await NestFactory.create(UndeclaredModule, adapter, {
      logger: false,
      abortOnError: false,
    });
    await expect(application.init()).rejects.toThrow(
      'serving GET /x: the handler declares no access; use the decorators of wire/route.ts',
    );
  });

  it('opens to a key for reading nothing that writes', () => {
    // a question that is too long for an address
    const writes = SCOPED.filter(([method, path]) => method !== 'GET' && !READING.test(path));
    const opened = writes.filter(([method, path]) => scopesOf(routeName(method, path)).includes('read'));
    expect(opened).toEqual([['POST', '/auth/verify']]);
  });

  it('opens one route to a key for calling agents', () => {
    const opened = ROUTES.filter(([method, path]) => scopesOf(routeName(method, path)).includes('invoke'));
    expect(opened).toEqual([['POST', '/auth/verify']]);
  });
});

describe('keys of each scope', () => {
  const { api, tenant } = testApi();
  const keys = new Map<KeyScope, string>();

  async function mint(scope: KeyScope): Promise<string> {
    const grant = scope === 'deployment' ? { scope, deployment: 'agent-1', project: 'Agent one' } : { scope };
    return (await api.store.apiKeys.mint(tenant.tenantId, { name: scope, ...grant })).key;
  }

  /** Calls a route with a key of the scope. */
  function as(scope: KeyScope, method: string, path: string, body?: unknown) {
    return tenant.call(method, path, body, { 'x-api-key': keys.get(scope) ?? '' });
  }

  beforeAll(async () => {
    for (const scope of KEY_SCOPES) keys.set(scope, await mint(scope));
  });

  it.each(ROUTES)('open what the table says: %s %s', async (method, path) => {
    const address = path.replace(/\{[a-z_]+\}/g, () => randomUUID());
    for (const scope of KEY_SCOPES)
      // refused before a body is read, by every spelling of the path that the router takes
      for (const spelling of [
        address,
        `${address}/`,
        address.replace(/[a-z]/, (x) => `%${x.charCodeAt(0).toString(16)}`),
      ]) {
        const answer = await fetch(api.url + spelling, {
          method,
          headers: { 'x-api-key': keys.get(scope) ?? '' },
        });
        const { detail } = (await answer.json()) as { readonly detail?: unknown };
        const isRefused = answer.status === 403 && String(detail).includes(`the scope ${scope} may not`);
        expect([scope, spelling, isRefused]).toEqual([
          scope,
          spelling,
          !scopesOf(routeName(method, path)).includes(scope),
        ]);
      }
  });

  it.each(['ingest', 'read', 'invoke', 'deployment'] as const)(
    'refuses to make other keys with a key of the scope %s',
    async (scope) => {
      const answer = await as(scope, 'POST', '/api/v1/api-key', { scope: 'workspace' });
      expect([answer.status, answer.json.detail]).toEqual([
        403,
        `An API key of the scope ${scope} may not call this route; use a key of the scope workspace`,
      ]);
    },
  );

  it('open HEAD as they open GET', async () => {
    const statuses = async (path: string) =>
      Promise.all(
        (['workspace', 'read', 'ingest'] as const).map(async (scope) => {
          const headers = { 'x-api-key': keys.get(scope) ?? '' };
          return (await fetch(api.url + path, { method: 'HEAD', headers })).status;
        }),
      );
    expect(await statuses('/sessions')).toEqual([200, 200, 403]);
    expect(await statuses('/api/v1/api-key')).toEqual([200, 403, 403]);
  });

  it('lets a key of the scope ingest write runs and read nothing', async () => {
    const id = randomUUID();
    const run = { id, name: 'n', run_type: 'chain', session_name: 'made by ingestion' };
    expect((await as('ingest', 'POST', '/runs', run)).status).toBe(202);
    expect((await as('ingest', 'PATCH', `/runs/${id}`, { outputs: { a: 1 } })).status).toBe(202);
    for (const path of [`/runs/${id}`, '/sessions', '/v2/deployments'])
      expect((await as('ingest', 'GET', path)).status).toBe(403);
    const read = await as('read', 'GET', `/runs/${id}`);
    expect([read.status, read.json.outputs]).toEqual([200, { a: 1 }]);
    expect((await as('read', 'GET', '/sessions?name=made by ingestion')).json).toHaveLength(1);
  });

  describe('of a deployment', () => {
    const run = (more: object = {}) => ({ id: randomUUID(), name: 'n', run_type: 'chain', ...more });
    let ownId: string;
    let foreignId: string;
    /** A run of another project. */
    let foreign: { readonly id: string };

    beforeAll(async () => {
      const named = async (name: string) =>
        (await tenant.call('POST', '/sessions', { name })).json.id as string;
      [ownId, foreignId] = [await named('Agent one'), await named('second')];
      foreign = run({ session_name: 'second', inputs: { secret: 1 } });
      expect((await tenant.call('POST', '/runs', foreign)).status).toBe(202);
    });

    const refusal = (project: string) =>
      expect.stringContaining(`the tracing project ${project}, and this key`);

    it('lets the key of a deployment write into its own project, by name, by id and by default', async () => {
      for (const where of [{ session_name: 'Agent one' }, { session_id: ownId }, {}]) {
        const one = run(where);
        expect((await as('deployment', 'POST', '/runs', one)).status).toBe(202);
        expect((await as('deployment', 'PATCH', `/runs/${one.id}`, { outputs: { a: 1 } })).status).toBe(202);
        const read = await as('deployment', 'GET', `/runs/${one.id}`);
        expect([read.status, read.json.session_id, read.json.outputs]).toEqual([200, ownId, { a: 1 }]);
      }
    });

    it('lets the key of a deployment write into its own project when it was made again elsewhere', async () => {
      await as('deployment', 'POST', '/runs', run());
      const other = openTraceStore({
        uri: api.storeUri,
        log: createLogger('test', 'error'),
        clock: systemClock,
      });
      await other.projects.delete(tenant.tenantId, ownId);
      ownId = (await other.projects.ensure(tenant.tenantId, 'Agent one')).id;
      await other.close();
      expect((await as('deployment', 'POST', '/runs', run({ session_id: ownId }))).status).toBe(202);
    });

    it('lets the key of a deployment write into no other project, and make none', async () => {
      for (const [where, project] of [
        [{ session_name: 'second' }, 'second'],
        [{ session_name: 'default' }, 'default'],
        [{ session_name: 'second-fake' }, 'second-fake'],
        [{ session_id: foreignId }, foreignId],
        [{ session_id: foreignId, session_name: 'Agent one' }, foreignId],
      ] as const) {
        const one = run(where);
        const body = { post: [run(), one], patch: [] };
        for (const answer of [
          await as('deployment', 'POST', '/runs', one),
          await as('deployment', 'POST', '/runs/batch', body),
          await as('deployment', 'POST', '/runs/batch', { patch: [one], post: [] }),
        ]) {
          expect([where, answer.status]).toEqual([where, 403]);
          expect(answer.json.detail).toEqual(refusal(project));
        }
        expect((await tenant.call('GET', `/runs/${one.id}`)).status).toBe(404);
      }
      expect((await tenant.call('GET', '/sessions?name_contains=fake')).json).toEqual([]);
    });

    it('lets the key of a deployment write into no other project by multipart', async () => {
      const one = run({ session_name: 'second' });
      const form = new FormData();
      form.append(`post.${one.id}`, new Blob([JSON.stringify(one)], { type: 'application/json' }));
      const answer = await fetch(`${api.url}/runs/multipart`, {
        method: 'POST',
        headers: { 'x-api-key': keys.get('deployment') ?? '' },
        body: form,
      });
      expect([answer.status, await answer.json()]).toEqual([403, { detail: refusal('second') }]);
    });

    it('lets the key of a deployment change no run of another project', async () => {
      const { id } = foreign;
      const before = (await tenant.call('GET', `/runs/${id}`)).json;
      const patches = [
        { outputs: { a: 1 } },
        { name: 'x', session_name: 'Agent one' },
        { end_time: '2026-01-01T00:00:00Z' },
      ];
      for (const patch of patches)
        expect((await as('deployment', 'PATCH', `/runs/${id}`, patch)).status).toBe(403);
      expect((await as('deployment', 'POST', '/runs', { ...run(), id, outputs: { a: 1 } })).status).toBe(403);
      expect((await tenant.call('GET', `/runs/${id}`)).json).toEqual(before);
    });

    it('lets the key of a deployment change no run of another project by an update that comes before it', async () => {
      const [early, own] = [run({ session_name: 'second' }), run()];
      for (const { id } of [early, own])
        expect((await as('deployment', 'PATCH', `/runs/${id}`, { outputs: { a: 1 } })).status).toBe(202);
      await tenant.call('POST', '/runs', early);
      await as('deployment', 'POST', '/runs', own);
      expect((await tenant.call('GET', `/runs/${early.id}`)).json.outputs).toBeNull();
      expect((await tenant.call('GET', `/runs/${own.id}`)).json.outputs).toEqual({ a: 1 });
    });

    it('lets the key of a deployment read runs of its own project only, and no projects', async () => {
      const unknown = randomUUID();
      const hidden = await as('deployment', 'GET', `/runs/${foreign.id}`);
      const missing = await as('deployment', 'GET', `/runs/${unknown}`);
      expect([hidden.status, missing.status]).toEqual([404, 404]);
      expect(hidden.text.replace(foreign.id, 'ID')).toBe(missing.text.replace(unknown, 'ID'));
      for (const path of ['/sessions', `/sessions/${ownId}`, `/sessions/${foreignId}`])
        expect((await as('deployment', 'GET', path)).status).toBe(403);
    });

    it('shows the key of a deployment nothing of a run of another project as its parent', async () => {
      const child = run({ parent_run_id: foreign.id });
      expect((await as('deployment', 'POST', '/runs', child)).status).toBe(202);
      const parentOrder = (await tenant.call('GET', `/runs/${foreign.id}`)).json.dotted_order as string;
      const seen = (await as('deployment', 'GET', `/runs/${child.id}`)).json.dotted_order as string;
      expect(seen.startsWith(parentOrder)).toBe(false);
    });

    it('lets the key of a deployment delete no project, not even its own', async () => {
      for (const id of [ownId, foreignId])
        expect((await as('deployment', 'DELETE', `/sessions/${id}`)).status).toBe(403);
      expect((await tenant.call('GET', `/sessions/${foreignId}`)).status).toBe(200);
    });
  });
});
