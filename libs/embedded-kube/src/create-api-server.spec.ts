import { describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { at, listAt, textAt } from '#lib/kube-semantics';
import { createApiServer } from './create-api-server.js';
import { testApi, thingCrd } from './testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';

describe('an API server on Postgres', () => {
  const api = testApi();
  const otherFolder = temporaryFolder();

  async function rows(sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: api.databaseUri });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  it('keeps its keys in files that only their owner can read', () => {
    const { pkiFolder } = api.options;
    expect(readdirSync(pkiFolder).sort()).toEqual([
      'ca.crt',
      'ca.key',
      'encryption.key',
      'service-account.key',
    ]);
    for (const file of readdirSync(pkiFolder))
      expect(statSync(join(pkiFolder, file)).mode & 0o777).toBe(0o600);
  });

  it('creates the namespaces and the policy of a cluster at its first start', async () => {
    const { body } = await api.admin.get('/api/v1/namespaces');
    const names = listAt(body, 'items').map((item) => textAt(item, ['metadata', 'name']));
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect((await api.admin.get('/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin')).code).toBe(
      200,
    );
  });

  it('shows acknowledged objects after a restart under the same resource versions', async () => {
    const created = await api.admin.create(MAPS, { metadata: { name: 'kept' }, data: { a: '1' } });
    await api.admin.create(MAPS, { metadata: { name: 'gone' } });
    await api.admin.delete(`${MAPS}/gone`);
    const before = await api.admin.get(MAPS);
    await api.restart();
    expect((await api.admin.get(`${MAPS}/kept`)).body).toEqual(created.body);
    expect((await api.admin.get(`${MAPS}/gone`)).code).toBe(404);
    expect(at((await api.admin.get(MAPS)).body, 'metadata', 'resourceVersion')).toBe(
      at(before.body, 'metadata', 'resourceVersion'),
    );
  });

  it('resumes a watch across a restart', async () => {
    const { body } = await api.admin.get(MAPS);
    await api.admin.create(MAPS, { metadata: { name: 'seen-later' } });
    await api.admin.merge(`${MAPS}/seen-later`, { data: { a: '1' } });
    await api.restart();
    const watch = api.admin.watch(
      `${MAPS}?watch=true&resourceVersion=${textAt(body, ['metadata', 'resourceVersion'])}`,
    );
    await waitFor(() => watch.events.length >= 2);
    watch.end();
    expect(watch.events.map((event) => [event.type, textAt(event.object, ['metadata', 'name'])])).toEqual([
      ['ADDED', 'seen-later'],
      ['MODIFIED', 'seen-later'],
    ]);
  });

  it('serves custom resources again after a restart', async () => {
    expect(
      (await api.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', thingCrd())).code,
    ).toBe(201);
    const path = '/apis/test.agentplane.dev/v1/namespaces/default/things';
    expect(
      (
        await api.admin.create(path, {
          apiVersion: 'test.agentplane.dev/v1',
          kind: 'Thing',
          metadata: { name: 'a' },
          spec: { x: 1 },
        })
      ).code,
    ).toBe(201);
    await api.restart();
    expect(at((await api.admin.get(`${path}/a`)).body, 'spec', 'x')).toBe(1);
  });

  it('writes no Secret in clear text, neither as object nor in the change log', async () => {
    const marker = 'the-secret-marker';
    await api.admin.create(SECRETS, { metadata: { name: 'sealed' }, stringData: { key: marker } });
    await api.admin.merge(`${SECRETS}/sealed`, { stringData: { other: marker } });
    const encoded = Buffer.from(marker).toString('base64');
    const stored = await rows(`SELECT object FROM kube_objects UNION ALL SELECT object FROM kube_changes`);
    expect(
      stored.some(({ object }) => String(object).includes(marker) || String(object).includes(encoded)),
    ).toBe(false);
    await api.restart();
    expect(at((await api.admin.get(`${SECRETS}/sealed`)).body, 'data', 'key')).toBe(encoded);
  });

  it('refuses to start on a Secret that was moved to another name in the database', async () => {
    await rows(`UPDATE kube_objects SET name = 'renamed' WHERE resource = 'secrets' AND name = 'sealed'`);
    await expect(api.restart()).rejects.toThrow('cannot decrypt secrets/default/renamed');
    await rows(`UPDATE kube_objects SET name = 'sealed' WHERE resource = 'secrets' AND name = 'renamed'`);
    await api.restart();
  });

  it('seals every Secret with a new key after a start with it, so that the former one can go', async () => {
    const marker = Buffer.from('kept through a rotation').toString('base64');
    await api.admin.create(SECRETS, { metadata: { name: 'rotated' }, data: { key: marker } });
    const file = join(api.options.pkiFolder, 'encryption.key');
    const [former, added] = [readFileSync(file, 'utf8'), `${randomBytes(32).toString('base64')}\n`];
    const sealed = `SELECT object FROM kube_objects WHERE resource = 'secrets'
      UNION ALL SELECT object FROM kube_changes WHERE resource = 'secrets'`;
    const before = new Set((await rows(sealed)).map(({ object }) => object));
    expect(before.size).toBeGreaterThan(1);
    const { body } = await api.admin.get(SECRETS);
    writeFileSync(file, `${added}${former}`);
    await api.restart();
    expect((await rows(sealed)).filter(({ object }) => before.has(object))).toEqual([]);
    writeFileSync(file, added);
    await api.restart();
    expect((await api.admin.get(SECRETS)).body).toEqual(body);
    expect(at((await api.admin.get(`${SECRETS}/rotated`)).body, 'data', 'key')).toBe(marker);
    writeFileSync(file, former);
    await expect(api.restart()).rejects.toThrow('wrong encryption key');
    writeFileSync(file, 'c2hvcnQ=\n');
    await expect(api.restart()).rejects.toThrow('line 1 of encryption.key has 5 bytes');
    writeFileSync(file, added);
    await api.restart();
  });

  it('refuses to start beside another server on the same database', async () => {
    const second = createApiServer({
      ...api.options,
      pkiFolder: otherFolder,
      log: createLogger('kube', 'silent'),
    });
    await expect(second.start()).rejects.toThrow('another API server uses this database; stop it first');
  });

  it('finishes writes when its connection is killed between them and inside them', async () => {
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kube-apiserver'`;
    const writes = Array.from({ length: 200 }, (_, index) =>
      api.admin.create(MAPS, { metadata: { name: `killed-${index}` } }),
    );
    for (let round = 0; round < 5; round++) await rows(kill);
    const answers = await Promise.all(writes);
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([201]));
    const listed = listAt((await api.admin.get(MAPS)).body, 'items').filter((item) =>
      textAt(item, ['metadata', 'name']).startsWith('killed-'),
    );
    expect(listed).toHaveLength(200);
    await api.restart();
    const again = listAt((await api.admin.get(MAPS)).body, 'items').filter((item) =>
      textAt(item, ['metadata', 'name']).startsWith('killed-'),
    );
    expect(again).toEqual(listed);
  });

  it('stops while watches are open', async () => {
    const watch = api.admin.watch(`${MAPS}?watch=true`);
    await waitFor(() => watch.events.length > 0);
    await api.restart();
    await watch.ended;
    expect((await api.admin.get(MAPS)).code).toBe(200);
  });
});
