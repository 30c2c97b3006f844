import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEmbeddedKube } from '#lib/testing';
import { KubeClient } from '../client/kube-client.js';
import { KubeUnreachableError } from '../client/kube-unreachable-error.js';
import { staticToken } from '../connection/kube-connection.js';
import { loadKubeConnection } from '../connection/load-kube-connection.js';
import { CONFIG_MAPS, type ConfigMap, type Deployment, DEPLOYMENTS } from '#lib/resources';
import { FaultyProxy } from '../testdata/faulty-proxy.js';
import { applyOwned } from './apply-owned.js';
import { addFinalizer, removeFinalizer } from './finalizer-writer.js';
import { StatusWriter } from './status-writer.js';

describe('writers', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let proxy: FaultyProxy;
  let count = 0;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    proxy = new FaultyProxy(connection);
    const { clientCertificate: _certificate, clientKey: _key, ...plain } = connection;
    client = new KubeClient(
      { ...plain, ...(await proxy.start()), ca: undefined },
      {
        fieldManager: 'test',
      },
    );
  });
  afterAll(async () => {
    await client.close();
    await proxy.stop();
  });

  const newDeployment = (): Promise<Deployment> => {
    const template = {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'main', image: 'x' }] },
    };
    const metadata = { namespace: 'default', name: `writing-${++count}` };
    return client.create(DEPLOYMENTS, {
      metadata,
      spec: { selector: { matchLabels: { app: 'x' } }, template },
    });
  };
  const newMap = (): Promise<ConfigMap> =>
    client.create(CONFIG_MAPS, { metadata: { namespace: 'default', name: `writing-${++count}` } });
  async function callsOf(work: () => Promise<unknown>): Promise<number> {
    const before = total();
    await work();
    return total() - before;
  }
  const total = (): number => proxy.counts.list + proxy.counts.watch + proxy.counts.other;

  it('applies a status, and makes no call when it is so already', async () => {
    const writer = new StatusWriter(client);
    const first = await writer.apply(DEPLOYMENTS, await newDeployment(), { replicas: 2, readyReplicas: 1 });
    expect(first.status).toEqual({ replicas: 2, readyReplicas: 1 });
    expect(await callsOf(() => writer.apply(DEPLOYMENTS, first, { replicas: 2, readyReplicas: 1 }))).toBe(0);
    const second = await writer.apply(DEPLOYMENTS, first, { replicas: 2 }, ['readyReplicas']);
    expect(second.status).toEqual({ replicas: 2 });
  });

  it('applies no status over a newer version, its own last write included', async () => {
    const writer = new StatusWriter(client);
    const stale = await writer.apply(DEPLOYMENTS, await newDeployment(), { replicas: 1 });
    const newer = await writer.apply(DEPLOYMENTS, stale, { replicas: 2 });
    // the cache still shows 1, and 1 is wanted again
    await expect(writer.apply(DEPLOYMENTS, stale, { replicas: 1 })).rejects.toMatchObject({ code: 409 });
    // another leader, whose caches stopped before that
    await expect(new StatusWriter(client).apply(DEPLOYMENTS, stale, { replicas: 3 })).rejects.toMatchObject({
      code: 409,
    });
    const again = await writer.apply(DEPLOYMENTS, newer, { replicas: 1 });
    expect([newer.status?.replicas, again.status?.replicas]).toEqual([2, 1]);
    expect(await callsOf(() => writer.apply(DEPLOYMENTS, again, { replicas: 1 }))).toBe(0);
  });

  it('applies what is true of an object whatever else was written meanwhile', async () => {
    const facts = new StatusWriter(client, { fieldManager: 'facts', guard: 'uid' });
    const stale = await newDeployment();
    await new StatusWriter(client).apply(DEPLOYMENTS, stale, { readyReplicas: 1 });
    const written = await facts.apply(DEPLOYMENTS, stale, { replicas: 2 });
    expect(written.status).toEqual({ replicas: 2, readyReplicas: 1 });
  });

  it.each(['version', 'uid'] as const)(
    'leaves an object alone that has the name of the one it was asked about (guard %s)',
    async (guard) => {
      const former = await newDeployment();
      const key = { namespace: 'default', name: former.metadata.name };
      await client.delete(DEPLOYMENTS, key);
      count--;
      await newDeployment();
      const written = new StatusWriter(client, { guard }).apply(DEPLOYMENTS, former, { replicas: 1 });
      if (guard === 'version') await expect(written).rejects.toMatchObject({ code: 409 });
      else expect(await written).toBe(former);
      expect((await client.get(DEPLOYMENTS, key)).status ?? {}).toEqual({});
    },
  );

  it('does not know what stands there after a write whose answer never came', async () => {
    const writer = new StatusWriter(client);
    const stale = await writer.apply(DEPLOYMENTS, await newDeployment(), { replicas: 1 });
    const nobody = { server: 'http://127.0.0.1:1', auth: staticToken('x'), namespace: 'default' };
    const lost = new KubeClient(nobody);
    const cut = new StatusWriter(lost);
    const replicas = (count: number) => cut.apply(DEPLOYMENTS, stale, { replicas: count });
    expect(await replicas(1)).toBe(stale);
    await expect(replicas(2)).rejects.toBeInstanceOf(KubeUnreachableError);
    // back to what the cache shows: without the doubt this would be no call
    await expect(replicas(1)).rejects.toBeInstanceOf(KubeUnreachableError);
    await lost.close();
  });

  it('applies no status to an object that is gone', async () => {
    const gone = await newDeployment();
    await client.delete(DEPLOYMENTS, { namespace: 'default', name: gone.metadata.name });
    expect(await new StatusWriter(client).apply(DEPLOYMENTS, gone, { replicas: 1 })).toBe(gone);
  });

  it('merges a status again from what somebody else wrote in between', async () => {
    const stale = await newDeployment();
    await client.mergeStatus(
      DEPLOYMENTS,
      { namespace: 'default', name: stale.metadata.name },
      { status: { replicas: 5 } },
    );
    const seen: (number | undefined)[] = [];
    const written = await new StatusWriter(client).merge(DEPLOYMENTS, stale, ({ status }) => {
      seen.push(status?.replicas);
      return { readyReplicas: (status?.replicas ?? 0) + 1 };
    });
    expect(seen).toEqual([undefined, 5]);
    expect(written?.status).toMatchObject({ replicas: 5, readyReplicas: 6 });
  });

  it('answers undefined for the status of an object that is gone', async () => {
    const gone = await newDeployment();
    await client.delete(DEPLOYMENTS, { namespace: 'default', name: gone.metadata.name });
    expect(await new StatusWriter(client).merge(DEPLOYMENTS, gone, () => ({ replicas: 1 }))).toBeUndefined();
  });

  it('applies a child with its owner; calls nobody while it is right, and mends drift and dropped fields', async () => {
    const owner = { ref: CONFIG_MAPS, object: await newMap() };
    const metadata = { namespace: 'default', name: `child-${++count}` };
    const desired = { metadata, data: { a: '1', b: '2' } };
    const made = await applyOwned(client, owner, { ref: CONFIG_MAPS, desired, existing: undefined });
    expect(made.metadata.ownerReferences).toMatchObject([
      { uid: owner.object.metadata.uid, controller: true },
    ]);
    expect(
      await callsOf(() => applyOwned(client, owner, { ref: CONFIG_MAPS, desired, existing: made })),
    ).toBe(0);
    const drifted = await client.merge(
      CONFIG_MAPS,
      metadata,
      { data: { a: '9' } },
      { fieldManager: 'somebody' },
    );
    const mended = await applyOwned(client, owner, { ref: CONFIG_MAPS, desired, existing: drifted });
    expect(mended.data).toEqual({ a: '1', b: '2' });
    const fewer = await applyOwned(client, owner, {
      ref: CONFIG_MAPS,
      desired: { metadata, data: { a: '1' } },
      existing: mended,
    });
    expect(fewer.data).toEqual({ a: '1' });
  });

  it("does not take over an object that is not the owner's", async () => {
    const owner = { ref: CONFIG_MAPS, object: await newMap() };
    const existing = await newMap();
    const desired = { metadata: { namespace: 'default', name: existing.metadata.name } };
    await expect(applyOwned(client, owner, { ref: CONFIG_MAPS, desired, existing })).rejects.toMatchObject({
      reason: 'NotOurs',
    });
  });

  it('does not take over what the cache did not show it', async () => {
    const owner = { ref: CONFIG_MAPS, object: await newMap() };
    const hidden = await newMap();
    const metadata = { namespace: 'default', name: hidden.metadata.name };
    const desired = { metadata, data: { a: '1' } };
    await expect(
      applyOwned(client, owner, { ref: CONFIG_MAPS, desired, existing: undefined }),
    ).rejects.toMatchObject({ reason: 'NotOurs' });
    expect((await client.get(CONFIG_MAPS, metadata)).data).toBeUndefined();
  });

  it('puts a finalizer on and takes it off, and refuses when the list changed meanwhile', async () => {
    const map = await newMap();
    const held = await addFinalizer(client, CONFIG_MAPS, map, 'test.dev/a');
    expect(held.metadata.finalizers).toEqual(['test.dev/a']);
    await expect(addFinalizer(client, CONFIG_MAPS, map, 'test.dev/b')).rejects.toMatchObject({ code: 409 });
    await client.delete(CONFIG_MAPS, { namespace: 'default', name: map.metadata.name });
    const deleting = await client.get(CONFIG_MAPS, { namespace: 'default', name: map.metadata.name });
    await removeFinalizer(client, CONFIG_MAPS, deleting, 'test.dev/a');
    expect(await client.find(CONFIG_MAPS, { namespace: 'default', name: map.metadata.name })).toBeUndefined();
    await removeFinalizer(client, CONFIG_MAPS, deleting, 'test.dev/a');
  });
});
