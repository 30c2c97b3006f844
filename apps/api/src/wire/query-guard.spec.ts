import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'langsmith';
import { ApiModule } from '../api-module.js';
import { testApi } from '../testdata/test-api.js';
import { OpenApi } from './openapi.js';

const { api, tenant } = testApi();

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
}

describe('a query parameter', () => {
  let routes: readonly Route[];

  beforeAll(async () => {
    const document = (await new OpenApi(ApiModule.routes()).document()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, { parameters?: Parameter[] }>>>>;
    };
    routes = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { parameters = [] }]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{[a-z_]+\}/g, randomUUID()),
        query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
      })),
    );
  });

  it('stops the request on every route that does not know it, and names those it knows', async () => {
    expect(routes.length).toBeGreaterThan(40);
    for (const { method, path, query } of routes) {
      const answer = await tenant.call(method, `${path}?surprise=1`);
      expect([method, path, answer.status]).toEqual([method, path, 422]);
      const known = query.length === 0 ? 'none' : [...query].sort().join(', ');
      expect([method, path, answer.json.detail]).toEqual([
        method,
        path,
        [
          {
            loc: ['query', 'surprise'],
            msg: `Unknown query parameter; known here: ${known}`,
            type: 'extra_forbidden',
          },
        ],
      ]);
    }
  });

  it('passes on every route that documents it', async () => {
    for (const { method, path, query } of routes)
      for (const name of query) {
        const { json } = await tenant.call(method, `${path}?${name}=x`);
        expect([path, name, JSON.stringify(json)]).not.toEqual([
          path,
          name,
          expect.stringContaining('extra_forbidden'),
        ]);
      }
  });

  it('deletes nothing when it is unknown', async () => {
    const other = await api.workspace();
    const { id } = (await other.call('POST', '/sessions', { name: 'kept' })).json;
    expect((await other.call('DELETE', `/sessions/${id}?name=other`)).status).toBe(422);
    expect((await other.call('GET', `/sessions/${id}`)).status).toBe(200);
  });

  it('stops the request also when it is named as a member of every object', async () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect((await tenant.call('GET', `/v2/deployments?${name}=1`)).status).toBe(422);
  });

  it('matters only once the key is known', async () => {
    expect((await fetch(`${api.url}/v2/deployments?surprise=1`)).status).toBe(401);
  });
});

describe('a client of the LangSmith SDK', () => {
  beforeAll(async () => {
    for (const [name, team] of [
      ['one', 'a'],
      ['two', 'b'],
    ])
      await tenant.call('POST', '/sessions', { name, extra: { metadata: { team } } });
    await tenant.call('POST', '/sessions', { name: 'three' });
  });

  type Options = Parameters<Client['listProjects']>[0];
  const list = async (options: Options): Promise<string[]> => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const names: string[] = [];
    for await (const { name } of client.listProjects(options)) names.push(name ?? '');
    return names.sort();
  };

  it.each<[string, Options, string[]]>([
    ['everything', { includeStats: true }, ['one', 'three', 'two']],
    ['by metadata', { metadata: { team: 'b' } }, ['two']],
    ['by metadata that no project has', { metadata: { team: 'c' } }, []],
    ['without a dataset', { referenceFree: true }, ['one', 'three', 'two']],
    ['with a dataset', { referenceFree: false }, []],
    ['of a dataset', { referenceDatasetId: randomUUID() }, []],
  ])('lists projects %s', async (_, options, names) => {
    expect(await list(options)).toEqual(names);
  });

  it('reads a project with its statistics asked for', async () => {
    const client = new Client({ apiUrl: api.url, apiKey: tenant.key });
    const { id } = await client.readProject({ projectName: 'one', includeStats: true });
    expect((await client.readProject({ projectId: id, includeStats: false })).name).toBe('one');
  });

  it.each(['true', 'True', 'TRUE', '1'])('may spell true as %s', async (spelling) => {
    const { id } = (await tenant.call('GET', '/sessions?name=one')).json[0];
    const made = await tenant.call('POST', `/sessions?upsert=${spelling}`, { name: 'one' });
    expect([made.status, made.json.id]).toEqual([200, id]);
    expect((await tenant.call('POST', '/sessions?upsert=False', { name: 'one' })).status).toBe(409);
    expect((await tenant.call('POST', '/sessions?upsert=perhaps', { name: 'one' })).status).toBe(422);
  });

  it('reads a run with the hints of newer clients', async () => {
    const run = { id: randomUUID(), name: 'r', run_type: 'chain', session_name: 'one', serialized: { s: 1 } };
    await tenant.call('POST', '/runs', run);
    const project = (await tenant.call('GET', '/sessions?name=one')).json[0].id;
    const path = `/runs/${run.id}?session_id=${project}&start_time=2026-01-01T00:00:00Z`;
    const all = await tenant.call('GET', `${path}&exclude_s3_stored_attributes=False&include_messages=True`);
    expect([all.status, all.json.serialized]).toEqual([200, { s: 1 }]);
    expect((await tenant.call('GET', `${path}&exclude_serialized=True`)).json.serialized).toBeNull();
    expect((await tenant.call('GET', `/runs/${run.id}?session_id=${randomUUID()}`)).status).toBe(404);
  });
});
