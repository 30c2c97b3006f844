import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasRealKubernetes, testApiServer, testEmbeddedKube, waitFor } from '#lib/testing';
import { loadKubeConnection } from '../connection/load-kube-connection.js';
import { CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, SERVICE_ACCOUNTS } from '#lib/resources';
import { discoverResources } from '../discovery/discover-resources.js';
import { isAlreadyExists, isConflict, isInvalid, isNotFound, KubeApiError } from './kube-api-error.js';
import { FaultyProxy } from '../testdata/faulty-proxy.js';
import { KubeClient } from './kube-client.js';
import type { WatchEvent } from './request-options.js';

const HOMES = [
  { name: 'the embedded API server', home: testEmbeddedKube },
  ...(hasRealKubernetes ? [{ name: 'a real API server', home: testApiServer }] : []),
];

describe.each(HOMES)('KubeClient towards $name', ({ home }) => {
  const server = home();
  let client: KubeClient;
  let count = 0;
  const fresh = (): { namespace: string; name: string } => ({
    namespace: 'default',
    name: `client-${++count}`,
  });

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
  });
  afterAll(() => client.close());

  it('creates, reads, replaces and deletes', async () => {
    const key = fresh();
    const made = await client.create(CONFIG_MAPS, { metadata: key, data: { a: '1' } });
    expect(made.metadata.uid).toBeTruthy();
    const replaced = await client.replace(CONFIG_MAPS, { ...made, data: { b: '2' } });
    expect((await client.get(CONFIG_MAPS, key)).data).toEqual({ b: '2' });
    await expect(client.replace(CONFIG_MAPS, made)).rejects.toThrow(KubeApiError);
    expect(await client.delete(CONFIG_MAPS, key, { uid: replaced.metadata.uid ?? '' })).toBe(true);
    expect(await client.find(CONFIG_MAPS, key)).toBeUndefined();
    expect(await client.delete(CONFIG_MAPS, key)).toBe(false);
  });

  it('repeats reads and applies that meet an error of the server, and no other write', async () => {
    const proxy = new FaultyProxy(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }));
    const faulty = new KubeClient(await proxy.start());
    const key = fresh();
    const applied = { metadata: key, data: { a: '1' } };
    proxy.failRequests = 2;
    expect((await faulty.apply(CONFIG_MAPS, applied)).metadata.name).toBe(key.name);
    proxy.failRequests = 2;
    expect((await faulty.get(CONFIG_MAPS, key)).metadata.name).toBe(key.name);
    proxy.failRequests = 1;
    await expect(faulty.create(CONFIG_MAPS, { metadata: fresh() })).rejects.toMatchObject({ code: 500 });
    proxy.failRequests = 100;
    await expect(faulty.get(CONFIG_MAPS, key)).rejects.toMatchObject({ code: 500 });
    expect(proxy.failRequests).toBe(96);
    await faulty.close();
    await proxy.stop();
  });

  it('says by code and reason why it was refused', async () => {
    const key = fresh();
    const made = await client.create(CONFIG_MAPS, { metadata: key });
    const refusal = (work: Promise<unknown>): Promise<unknown> =>
      work.then(() => undefined).catch((error: unknown) => error);
    expect(isAlreadyExists(await refusal(client.create(CONFIG_MAPS, { metadata: key })))).toBe(true);
    expect(isNotFound(await refusal(client.get(CONFIG_MAPS, fresh())))).toBe(true);
    expect(isConflict(await refusal(client.delete(CONFIG_MAPS, key, { uid: 'another' })))).toBe(true);
    const stale = { metadata: { resourceVersion: '1' }, data: { a: '1' } };
    expect(isConflict(await refusal(client.merge(CONFIG_MAPS, key, stale)))).toBe(true);
    const invalid = await refusal(client.create(CONFIG_MAPS, { metadata: { ...key, name: 'Not A Name' } }));
    expect(isInvalid(invalid)).toBe(true);
    expect(invalid instanceof KubeApiError && invalid.details.causes?.[0]?.field).toBe('metadata.name');
    expect(made.metadata.name).toBe(key.name);
  });

  it('applies: removes fields that a manager no longer sends, keeps those of others', async () => {
    const key = fresh();
    await client.apply(CONFIG_MAPS, { metadata: key, data: { a: '1', b: '2' } });
    await client.merge(CONFIG_MAPS, key, { data: { c: '3' } }, { fieldManager: 'another' });
    const applied = await client.apply(CONFIG_MAPS, { metadata: key, data: { a: '9' } });
    expect(applied.data).toEqual({ a: '9', c: '3' });
    const foreign = client.apply(CONFIG_MAPS, { metadata: key, data: { c: '4' } }, { force: false });
    await expect(foreign).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
  });

  it('patches by merge', async () => {
    const key = fresh();
    await client.create(CONFIG_MAPS, { metadata: key, data: { a: '1', b: '2' } });
    expect((await client.merge(CONFIG_MAPS, key, { data: { a: null } })).data).toEqual({ b: '2' });
  });

  it('reads every page of a list', async () => {
    for (let i = 0; i < 5; i++)
      await client.create(CONFIG_MAPS, { metadata: { ...fresh(), labels: { test: 'pages' } } });
    const sizes: number[] = [];
    for await (const page of client.pages(CONFIG_MAPS, {
      namespace: 'default',
      labelSelector: 'test=pages',
      pageSize: 2,
    }))
      sizes.push(page.items.length);
    expect(sizes).toEqual([2, 2, 1]);
    const list = await client.list(CONFIG_MAPS, { labelSelector: 'test=pages', pageSize: 2 });
    expect(list.items.map(({ kind, apiVersion }) => `${apiVersion} ${kind}`)).toEqual(
      Array(5).fill('v1 ConfigMap'),
    );
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
  });

  it('watches from a version on until it is aborted', async () => {
    const key = fresh();
    const { resourceVersion } = await client.list(CONFIG_MAPS, { namespace: 'default' });
    const abort = new AbortController();
    const events: string[] = [];
    const watching = (async () => {
      const options = {
        namespace: 'default',
        fieldSelector: `metadata.name=${key.name}`,
        resourceVersion,
        signal: abort.signal,
      };
      for await (const event of client.watch(CONFIG_MAPS, options)) events.push(textOf(event));
    })();
    await client.create(CONFIG_MAPS, { metadata: key });
    await client.merge(CONFIG_MAPS, key, { data: { a: '1' } });
    await client.delete(CONFIG_MAPS, key);
    await waitFor(() => events.includes('DELETED'));
    abort.abort();
    await watching;
    expect(events.filter((event) => event !== 'BOOKMARK')).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('ends a watch when the server does', async () => {
    const { resourceVersion } = await client.list(NAMESPACES);
    const events: string[] = [];
    for await (const event of client.watch(NAMESPACES, { resourceVersion, timeoutSeconds: 1 }))
      events.push(event.type);
    expect(events.filter((type) => type !== 'BOOKMARK')).toEqual([]);
  });

  it('lists metadata alone', async () => {
    const key = fresh();
    await client.create(CONFIG_MAPS, { metadata: key, data: { big: 'x' } });
    const { items } = await client.list(CONFIG_MAPS, {
      fieldSelector: `metadata.name=${key.name}`,
      metadataOnly: true,
    });
    expect(items.map(({ metadata, data }) => [metadata.name, data])).toEqual([[key.name, undefined]]);
  });

  it('writes a status beside its object', async () => {
    const key = fresh();
    const template = {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    await client.create(DEPLOYMENTS, {
      metadata: key,
      spec: { selector: { matchLabels: { app: 'x' } }, template },
    });
    const written = await client.mergeStatus(DEPLOYMENTS, key, {
      spec: { replicas: 9 },
      status: { replicas: 1 },
    });
    expect([written.spec.replicas, written.status?.replicas, written.metadata.generation]).toEqual([1, 1, 1]);
    const applied = await client.applyStatus(DEPLOYMENTS, {
      metadata: key,
      status: { observedGeneration: 1 },
    });
    expect(applied.status).toMatchObject({ replicas: 1, observedGeneration: 1 });
  });

  it('makes tokens of a service account, as which another client acts', async () => {
    const key = fresh();
    await client.create(SERVICE_ACCOUNTS, { metadata: key });
    const { token, expirationTimestamp } = await client.createToken(key, { expirationSeconds: 600 });
    expect(Date.parse(expirationTimestamp)).toBeGreaterThan(Date.now());
    const auth = { authorization: () => Promise.resolve(`Bearer ${token}`) };
    const { clientCertificate: _certificate, clientKey: _key, ...connection } = client.connection;
    const other = new KubeClient({ ...connection, auth });
    await expect(other.list(CONFIG_MAPS, { namespace: 'default' })).rejects.toMatchObject({
      code: 403,
      reason: 'Forbidden',
    });
    await other.close();
  });

  it('discovers every kind once', async () => {
    const resources = await discoverResources(client);
    const deployments = resources.filter(({ kind }) => kind === 'Deployment');
    expect(deployments).toMatchObject([
      { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true },
    ]);
    expect(deployments[0]?.verbs).toEqual(expect.arrayContaining(['list', 'watch', 'delete']));
  });
});

function textOf(event: WatchEvent<unknown>): string {
  return event.type;
}

describe('KubeClient without a server', () => {
  it('reports that the server did not answer, with the error of the socket', async () => {
    const auth = { authorization: () => Promise.resolve(undefined) };
    const client = new KubeClient({ server: 'http://127.0.0.1:1', auth, namespace: 'default' });
    await expect(client.get(NAMESPACES, { name: 'default' })).rejects.toMatchObject({
      name: 'KubeUnreachableError',
      code: 'ECONNREFUSED',
    });
    await client.close();
  });

  it('refuses to address an object without a name, which would be the collection', async () => {
    const auth = { authorization: () => Promise.resolve(undefined) };
    const client = new KubeClient({ server: 'http://127.0.0.1:1', auth, namespace: 'default' });
    await expect(client.delete(CONFIG_MAPS, { namespace: 'default', name: '' })).rejects.toThrow(
      'without a name',
    );
    await client.close();
  });
});
