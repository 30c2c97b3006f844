import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testEmbeddedKube } from '#lib/testing';
import { KubeClient } from '../client/kube-client.js';
import { KubeUnreachableError } from '../client/kube-api-error.js';
import { staticToken } from '../connection/kube-connection.js';
import { loadKubeConnection } from '../connection/load-kube-connection.js';
import {
  type Condition,
  CONFIG_MAPS,
  type ConfigMap,
  type Deployment,
  DEPLOYMENTS,
  keyOf,
} from '#lib/resources';
import { FaultyProxy } from '../testdata/faulty-proxy.js';
import {
  addFinalizer,
  applyManaged,
  belongsTo,
  deleteManaged,
  type ManagingOwner,
  removeFinalizer,
} from './apply-managed.js';
import { StatusWriter } from './status-writer.js';

const TIME = '2026-01-01T00:00:00Z';

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

  it('leaves an object alone that has the name of the one it was asked about', async () => {
    const former = await newDeployment();
    const key = { namespace: 'default', name: former.metadata.name };
    await client.delete(DEPLOYMENTS, key);
    count--;
    await newDeployment();
    const written = new StatusWriter(client).apply(DEPLOYMENTS, former, { replicas: 1 });
    await expect(written).rejects.toMatchObject({ code: 409 });
    expect((await client.get(DEPLOYMENTS, key)).status ?? {}).toEqual({});
  });

  it('makes no call while its own conditions are current, whatever others say in the list', async () => {
    const condition = (type: string): Condition & { readonly lastUpdateTime: string } => ({
      type,
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: TIME,
      lastUpdateTime: TIME,
    });
    const one = new StatusWriter(client, { fieldManager: 'one', conditionTypes: ['A'] });
    const other = new StatusWriter(client, { fieldManager: 'other', conditionTypes: ['B'] });
    const first = await one.apply(DEPLOYMENTS, await newDeployment(), { conditions: [condition('A')] });
    const both = await other.apply(DEPLOYMENTS, first, { conditions: [condition('B')] });
    expect(both.status?.conditions?.map(({ type }) => type)).toEqual(['A', 'B']);
    expect(await callsOf(() => one.apply(DEPLOYMENTS, both, { conditions: [condition('A')] }))).toBe(0);
    const without = await one.apply(DEPLOYMENTS, both, { conditions: [] });
    expect(without.status?.conditions?.map(({ type }) => type)).toEqual(['B']);
  });

  it('repeats a write after one that was not answered', async () => {
    const writer = new StatusWriter(client);
    const stale = await writer.apply(DEPLOYMENTS, await newDeployment(), { replicas: 1 });
    const unreachable = { server: 'http://127.0.0.1:1', auth: staticToken('x'), namespace: 'default' };
    const lost = new KubeClient(unreachable);
    const cut = new StatusWriter(lost);
    const replicas = (count: number) => cut.apply(DEPLOYMENTS, stale, { replicas: count });
    expect(await replicas(1)).toBe(stale);
    await expect(replicas(2)).rejects.toBeInstanceOf(KubeUnreachableError);
    // back to what the cache shows: without the doubt this would be no call
    await expect(replicas(1)).rejects.toBeInstanceOf(KubeUnreachableError);
    await lost.close();
  });

  it('applies no status to an object that no longer exists', async () => {
    const gone = await newDeployment();
    await client.delete(DEPLOYMENTS, { namespace: 'default', name: gone.metadata.name });
    expect(await new StatusWriter(client).apply(DEPLOYMENTS, gone, { replicas: 1 })).toBe(gone);
  });

  const KEEPING = 'test.dev/keeping';
  const byReference = async (): Promise<ManagingOwner> => ({
    kind: 'reference',
    ref: CONFIG_MAPS,
    object: await newMap(),
  });
  const byLabel = async (): Promise<ManagingOwner> => ({
    kind: 'label',
    object: await addFinalizer(client, CONFIG_MAPS, await newMap(), KEEPING),
    finalizer: KEEPING,
  });

  describe.each([
    ['reference', byReference],
    ['label', byLabel],
  ])('child owned by %s', (kind, newOwner) => {
    it('applies a child with its owner, makes no call while it is right, and mends it', async () => {
      const owner = await newOwner();
      const metadata = { namespace: 'default', name: `child-${++count}` };
      const desired = { metadata, data: { a: '1', b: '2' } };
      const made = await applyManaged(client, owner, { ref: CONFIG_MAPS, desired, existing: undefined });
      expect(belongsTo(made, owner)).toBe(true);
      expect(made.metadata.ownerReferences?.length ?? 0).toBe(kind === 'reference' ? 1 : 0);
      expect(
        await callsOf(() => applyManaged(client, owner, { ref: CONFIG_MAPS, desired, existing: made })),
      ).toBe(0);
      const drifted = await client.merge(
        CONFIG_MAPS,
        metadata,
        { data: { a: '9' } },
        { fieldManager: 'person' },
      );
      const mended = await applyManaged(client, owner, { ref: CONFIG_MAPS, desired, existing: drifted });
      expect(mended.data).toEqual({ a: '1', b: '2' });
      const fewer = await applyManaged(client, owner, {
        ref: CONFIG_MAPS,
        desired: { metadata, data: { a: '1' } },
        existing: mended,
      });
      expect(fewer.data).toEqual({ a: '1' });
    });

    it('takes no child over from another owner, whether or not the cache shows it', async () => {
      const owner = await newOwner();
      const foreign = await newMap();
      const metadata = { namespace: 'default', name: foreign.metadata.name };
      const desired = { metadata, data: { a: '1' } };
      for (const existing of [foreign, undefined])
        await expect(
          applyManaged(client, owner, { ref: CONFIG_MAPS, desired, existing }),
        ).rejects.toMatchObject({ reason: 'NotOurs' });
      expect((await client.get(CONFIG_MAPS, metadata)).data).toBeUndefined();
    });

    it('takes no child over from an owner of the same name', async () => {
      const [former, present] = [await newOwner(), await newOwner()];
      const desired = { metadata: { namespace: 'default', name: `child-${++count}` } };
      const existing = await applyManaged(client, former, { ref: CONFIG_MAPS, desired, existing: undefined });
      await expect(
        applyManaged(client, present, { ref: CONFIG_MAPS, desired, existing }),
      ).rejects.toMatchObject({ reason: 'NotOurs' });
    });
  });

  it('makes no child for an owner by label that nothing would keep', async () => {
    const owner = { kind: 'label', object: await newMap(), finalizer: KEEPING } as const;
    const desired = { metadata: { namespace: 'default', name: `child-${++count}` } };
    await expect(
      applyManaged(client, owner, { ref: CONFIG_MAPS, desired, existing: undefined }),
    ).rejects.toThrow('has no finalizer test.dev/keeping');
  });

  it('deletes the children of an owner by label, and no others', async () => {
    const [owner, other] = [await byLabel(), await byLabel()];
    const child = (of: ManagingOwner) =>
      applyManaged(client, of, {
        ref: CONFIG_MAPS,
        desired: { metadata: { namespace: 'default', name: `child-${++count}` } },
        existing: undefined,
      });
    const [mine, its] = [await child(owner), await child(other)];
    if (owner.kind !== 'label') throw new Error('owned by reference');
    expect(await deleteManaged(client, owner, 'default', CONFIG_MAPS)).toBe(false);
    expect(await deleteManaged(client, owner, 'default', CONFIG_MAPS)).toBe(true);
    expect(await client.find(CONFIG_MAPS, keyOf(mine))).toBeUndefined();
    expect(await client.find(CONFIG_MAPS, keyOf(its))).toBeDefined();
  });

  it('leaves replicas to an autoscaler once they are not applied', async () => {
    const owner = await byReference();
    const template = {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    };
    const metadata = { namespace: 'default', name: `writing-${++count}` };
    const desired = { metadata, spec: { selector: { matchLabels: { app: 'x' } }, template } };
    await applyManaged(client, owner, { ref: DEPLOYMENTS, desired, existing: undefined });
    const scaled = await client.merge(
      DEPLOYMENTS,
      metadata,
      { spec: { replicas: 5 } },
      { fieldManager: 'autoscaler' },
    );
    const apply = () => applyManaged(client, owner, { ref: DEPLOYMENTS, desired, existing: scaled });
    expect(await callsOf(apply)).toBe(0);
    const changed = { ...desired, metadata: { ...metadata, labels: { changed: 'yes' } } };
    const kept = await applyManaged(client, owner, { ref: DEPLOYMENTS, desired: changed, existing: scaled });
    expect([kept.spec.replicas, kept.metadata.labels]).toEqual([5, { changed: 'yes' }]);
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
