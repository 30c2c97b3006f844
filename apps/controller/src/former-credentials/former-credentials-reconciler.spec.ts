import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  ANNOTATION,
  type BulkExportDestination,
  CUSTOM_RESOURCE_DEFINITIONS,
  LABEL,
  NAMESPACES,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import { testEmbeddedKube, waitFor, testKubeClient } from '#lib/testing';
import { FormerCredentialsReconciler } from './former-credentials-reconciler.js';

const namespace = 'ws';

describe('FormerCredentialsReconciler', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  let count = 0;

  beforeAll(async () => {
    const folder = join(process.cwd(), 'crds');
    for (const file of readdirSync(folder).filter((name) => name.includes('destinations')))
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(readFileSync(join(folder, file), 'utf8')));
    await client.create(NAMESPACES, { metadata: { name: namespace } });
    await waitFor(() =>
      client.list(RESOURCES.BulkExportDestination, { namespace }).then(
        () => true,
        () => false,
      ),
    );
  });

  const aDestination = (former: string): Promise<BulkExportDestination> =>
    client.create(RESOURCES.BulkExportDestination, {
      metadata: {
        namespace,
        name: `d${++count}`,
        annotations: { [ANNOTATION.formerCredentials]: former },
      },
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', includeBucketInPrefix: true },
        credentialsSecretRef: { name: `d${count}-now` },
      },
    });
  const aSecret = (name: string, { metadata, apiVersion, kind }: BulkExportDestination, over: object = {}) =>
    client.create(SECRETS, {
      metadata: {
        namespace,
        name,
        labels: { [LABEL.managedBy]: 'agentplane' },
        ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }],
      },
      type: SECRET_TYPE.destinationCredentials,
      data: {},
      ...over,
    });
  /** Makes a pass with what the server has at this moment. */
  async function reconcile({ metadata: { name } }: BulkExportDestination, now: string): Promise<string> {
    const all = (await client.list(RESOURCES.BulkExportDestination, { namespace })).items;
    const reconciler = new FormerCredentialsReconciler({
      client,
      time: { now: async () => new Date(now) },
      destinations: {
        find: (key) => all.find((one) => one.metadata.name === key.name),
        list: () => [...all],
      },
      exports: { list: () => [] },
      runs: { list: () => [] },
    });
    const result = await reconciler.reconcile({ namespace, name });
    return result.kind === 'after' ? `after ${result.ms}` : result.kind;
  }
  const annotation = async ({ metadata: { name } }: BulkExportDestination): Promise<string | undefined> =>
    (await client.get(RESOURCES.BulkExportDestination, { namespace, name })).metadata.annotations?.[
      ANNOTATION.formerCredentials
    ];
  const exists = async (name: string): Promise<boolean> =>
    (await client.find(SECRETS, { namespace, name })) !== undefined;

  it('deletes former Secrets one by one, and forgets their names', async () => {
    const destination = await aDestination('first@2026-05-01T12:00:00Z,second@2026-05-01T12:05:00Z');
    for (const name of ['first', 'second']) await aSecret(name, destination);
    expect(await reconcile(destination, '2026-05-01T12:09:00Z')).toBe('after 60000');
    expect([await exists('first'), await exists('second')]).toEqual([true, true]);
    expect(await reconcile(destination, '2026-05-01T12:10:00Z')).toBe('after 300000');
    expect([await exists('first'), await exists('second')]).toEqual([false, true]);
    expect(await annotation(destination)).toBe('second@2026-05-01T12:05:00Z');
    expect(await reconcile(destination, '2026-05-01T12:15:00Z')).toBe('done');
    expect([await exists('second'), await annotation(destination)]).toEqual([false, undefined]);
  });

  it('leaves Secrets that were not made for the destination', async () => {
    const other = await aDestination('');
    const at = '@2026-05-01T12:00:00Z';
    const destination = await aDestination(`others${at},opaque${at},gone${at},a b`);
    await aSecret('others', other);
    await aSecret('opaque', destination, { type: 'Opaque' });
    expect(await reconcile(destination, '2026-05-01T12:10:00Z')).toBe('done');
    expect([await exists('others'), await exists('opaque')]).toEqual([true, true]);
    expect(await annotation(destination)).toBeUndefined();
  });
});
