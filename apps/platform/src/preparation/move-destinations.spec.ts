import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StoreUserFile } from '#lib/embedded-object-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { NAMESPACES, RESOURCES, SECRETS } from '#lib/resources';
import { temporaryFolder, testEmbeddedKube } from '#lib/testing';
import { systemClock } from '#lib/time';
import { applyDefinitions, Troubles } from './apply-manifests.js';
import { ensureOperator, resourceDefinitions, storeKeyData } from './bootstrap-objects.js';
import { fillFirstWorkspace } from './first-workspace.js';
import { moveDestinations } from './prepare.js';

const OLD = { accessKeyId: 'AGENTPLANEOLD', secretAccessKey: 'old-secret' };
const FOREIGN = { accessKeyId: 'AKFOREIGN', secretAccessKey: 'foreign-secret' };
const STORE = { endpoint: 'http://127.0.0.1:1', region: 'us-east-1', bucket: 'agentplane' };

describe('a data folder with one key for everything', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  const path = join(folder, 'object-store.json');
  let client: KubeClient;

  const destination = async (namespace: string, prefix: string, keys: typeof OLD): Promise<void> => {
    const at = { namespace, name: 'd' };
    await client.create(NAMESPACES, { metadata: { name: namespace } });
    await client.create(SECRETS, {
      metadata: { ...at, labels: { kept: 'yes' } },
      type: 'Opaque',
      immutable: true,
      data: storeKeyData(keys),
    });
    await client.create(RESOURCES.BulkExportDestination, {
      metadata: at,
      spec: {
        type: 'object_store',
        config: { bucketName: 'agentplane', prefix, includeBucketInPrefix: true },
        credentialsSecretRef: { name: 'd' },
      },
    });
  };
  const secretOf = (namespace: string, name = 'd') => client.get(SECRETS, { namespace, name });
  const userOf = async (namespace: string, name?: string) => {
    const { data = {} } = await secretOf(namespace, name);
    const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
    const user = new StoreUserFile(path).find(text('access_key_id'));
    return user?.secretAccessKey === text('secret_access_key') ? user : undefined;
  };

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }), {
      fieldManager: 'test',
    });
    await applyDefinitions(
      client,
      resourceDefinitions(join(import.meta.dirname, '..', '..', '..', '..')),
      systemClock,
    );
    await destination('ws-a', '/exports/a/', OLD);
    await destination('ws-b', 'exports/b', OLD);
    await destination('ws-c', 'elsewhere', FOREIGN);
    await client.create(NAMESPACES, { metadata: { name: 'ws-default' } });
    const local = { namespace: 'ws-default', name: 'local-destination' };
    await client.create(SECRETS, { metadata: local, type: 'Opaque', data: storeKeyData(OLD) });
    const users = new StoreUserFile(path);
    const operator = ensureOperator(users, OLD.accessKeyId);
    await moveDestinations(client, users, new Troubles());
    await fillFirstWorkspace(client, 'ws-default', { ...STORE, ...operator }, users, new Troubles());
  });
  afterAll(() => client.close());

  it('loses that key', () => {
    expect(new StoreUserFile(path).find(OLD.accessKeyId)).toBeUndefined();
  });

  it.each([
    ['ws-a', 'd', 'exports/a'],
    ['ws-b', 'd', 'exports/b'],
    ['ws-default', 'local-destination', 'exports'],
  ])('gives the destination of %s a key that writes under its prefix', async (namespace, name, prefix) => {
    expect((await userOf(namespace, name))?.grants).toEqual([
      { bucket: 'agentplane', prefix, actions: ['write', 'stat', 'read'] },
      { bucket: 'agentplane', prefix: `${prefix}/tmp`, actions: ['delete'] },
    ]);
    expect((await secretOf(namespace, name)).type).toBe('agentplane.dev/destination-credentials');
  });

  it('keeps labels and immutability of a Secret that it moves', async () => {
    expect(await secretOf('ws-a')).toMatchObject({ immutable: true, metadata: { labels: { kept: 'yes' } } });
  });

  it('leaves keys of other stores alone', async () => {
    expect(await secretOf('ws-c')).toMatchObject({ type: 'Opaque', data: storeKeyData(FOREIGN) });
  });

  it('changes nothing at the next start', async () => {
    const users = new StoreUserFile(path);
    const before = [await secretOf('ws-a'), await secretOf('ws-default', 'local-destination')];
    const operator = ensureOperator(users, 'AGENTPLANENEW');
    await moveDestinations(client, users, new Troubles());
    await fillFirstWorkspace(client, 'ws-default', { ...STORE, ...operator }, users, new Troubles());
    expect([await secretOf('ws-a'), await secretOf('ws-default', 'local-destination')]).toEqual(before);
    expect(users.find(operator.accessKeyId)?.grants[0]?.bucket).toBe('*');
  });

  it('moves a destination that was made with the key of the operator', async () => {
    const users = new StoreUserFile(path);
    await destination('ws-d', 'exports/d', ensureOperator(users, undefined));
    await moveDestinations(client, users, new Troubles());
    expect((await userOf('ws-d'))?.grants[0]).toEqual({
      bucket: 'agentplane',
      prefix: 'exports/d',
      actions: ['write', 'stat', 'read'],
    });
  });

  it.each([
    ['an old key', 'ws-e', () => ({ ...OLD, secretAccessKey: 'guessed' })],
    [
      'the key of the operator',
      'ws-f',
      () => ({ ...ensureOperator(new StoreUserFile(path), undefined), secretAccessKey: 'guessed' }),
    ],
  ])('gives no rights to who only knows the id of %s', async (_what, namespace, keys) => {
    await destination(namespace, '', keys());
    await moveDestinations(client, new StoreUserFile(path), new Troubles());
    expect(await secretOf(namespace)).toMatchObject({ type: 'Opaque', data: storeKeyData(keys()) });
    expect(new StoreUserFile(path).findNamed(`${namespace}/d`)).toBeUndefined();
    expect(await userOf(namespace)).toBeUndefined();
  });

  it('keeps the rights of a destination that has another prefix now and no Secret', async () => {
    const before = await userOf('ws-a');
    await client.delete(SECRETS, { namespace: 'ws-a', name: 'd' });
    await client.merge(
      RESOURCES.BulkExportDestination,
      { namespace: 'ws-a', name: 'd' },
      { spec: { config: { prefix: 'exports/b' } } },
    );
    await moveDestinations(client, new StoreUserFile(path), new Troubles());
    expect(await userOf('ws-a')).toEqual(before);
  });

  it('finishes a move that a kill interrupted', async () => {
    const before = await userOf('ws-b');
    await client.delete(SECRETS, { namespace: 'ws-b', name: 'd' });
    await moveDestinations(client, new StoreUserFile(path), new Troubles());
    expect(await userOf('ws-b')).toEqual(before);
  });

  it('goes on with the others, and names what a tenant keeps from being moved or made', async () => {
    const users = new StoreUserFile(path);
    const operator = ensureOperator(users, undefined);
    const keep = { metadata: { finalizers: ['tenant.example/keep'] } };
    await destination('ws-g', 'exports/g', operator);
    await client.merge(SECRETS, { namespace: 'ws-g', name: 'd' }, keep);
    await destination('ws-h', 'exports/h', operator);
    const local = { namespace: 'ws-default', name: 'local-destination' };
    await client.delete(SECRETS, local);
    await client.create(SECRETS, { metadata: { ...local, ...keep.metadata }, type: 'Opaque' });
    const troubles = new Troubles();
    await moveDestinations(client, users, troubles);
    await fillFirstWorkspace(client, 'ws-default', { ...STORE, ...operator }, users, troubles);
    expect(await userOf('ws-h')).toBeDefined();
    expect(troubles.texts).toEqual([
      expect.stringMatching(
        /^preparing the credentials of BulkExportDestination ws-g\/d failed: .*; mend or delete that object/,
      ),
      expect.stringMatching(/^preparing BulkExportDestination ws-default\/local and its Secret failed: /),
    ]);
  });
});
