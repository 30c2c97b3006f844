import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { KubeClient, loadKubeConnection, type Untyped } from '#lib/kube';
import { buildExportJob } from '#lib/manifests';
import {
  type BulkExportRun,
  CUSTOM_RESOURCE_DEFINITIONS,
  NAMESPACES,
  PODS,
  type ResourceRef,
  RESOURCES,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { kubeLogs } from './read-logs.js';
import { findLogOwner } from './log-owner.js';
import { NO_FLAGS } from './testdata/no-flags.js';

const CRDS = resolve(import.meta.dirname, '..', '..', '..', '..', 'crds');
const ID = '00000000-0000-4000-8000-000000000001';
const SYSTEM = 'agentplane-system';
const NAMESPACE = 'ws-one';

describe('logs of an export run', () => {
  const kube = testEmbeddedKube();
  let client: KubeClient;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: kube.kubeconfigPath }));
    const kind = parse(readFileSync(resolve(CRDS, 'agentplane.dev_bulkexportruns.yaml'), 'utf8')) as Untyped;
    await client.apply(CUSTOM_RESOURCE_DEFINITIONS as ResourceRef as ResourceRef<Untyped>, kind);
    await waitFor(() => client.list(RESOURCES.BulkExportRun).then(() => true));
    for (const name of [SYSTEM, NAMESPACE]) await client.create(NAMESPACES, { metadata: { name } });
    // no controller makes it here
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: SYSTEM, name: 'default' } });
  });
  afterAll(() => client.close());

  const begin = async (exportName: string, day: number): Promise<BulkExportRun> =>
    await client.create(RESOURCES.BulkExportRun, {
      metadata: { namespace: NAMESPACE, name: `${exportName}-2026050${day}` },
      spec: {
        exportName,
        exportId: ID,
        tenantId: ID,
        projectId: ID,
        startTime: `2026-05-0${day}T00:00:00Z`,
        endTime: `2026-05-0${day + 1}T00:00:00Z`,
        destination: { config: { bucketName: 'bucket', includeBucketInPrefix: true } },
        format: 'parquet',
        formatVersion: 'v1',
        compression: 'zstd',
      },
    });
  /** The pod of an attempt, as the Job would make it; no node carries it. */
  async function beginPod(run: BulkExportRun, number: number, following: readonly BulkExportRun[] = []) {
    const attempt = { run, number, following, systemNamespace: SYSTEM, timeoutMs: 1_000 };
    const { spec, metadata } = buildExportJob(attempt, {
      version: '1.2.3',
      apiUrl: 'http://api:8470',
      addresses: 'cluster-dns',
    });
    const { template } = spec;
    await client.create(PODS, {
      metadata: { ...template.metadata, namespace: SYSTEM, name: metadata.name },
      spec: template.spec,
    });
    return metadata.name;
  }
  /** Notes beside the lines. */
  async function notesOf(run: BulkExportRun): Promise<readonly string[]> {
    const notes: string[] = [];
    const owner = await findLogOwner(client, `bxr/${run.metadata.name}`, {
      namespace: NAMESPACE,
      revision: undefined,
    });
    const { signal } = new AbortController();
    const logs = kubeLogs({ client, owner, flags: NO_FLAGS, signal, onNote: (note) => notes.push(note) });
    await logs.next();
    return notes;
  }

  it('reads the worker that takes it after another run, and notes whose worker that is', async () => {
    const [first, second, third] = [await begin('x', 1), await begin('x', 2), await begin('x', 3)];
    const other = await begin('y', 1);
    const pod = await beginPod(first, 1, [second]);
    await beginPod(other, 1);
    const none = 'no container has started yet';
    const uid = second.metadata.uid ?? '';
    expect(await notesOf(second)).toEqual([
      `BulkExportRun x-20260502 shares the worker of x-20260501 (pod ${pod}): lines with "run":"${uid}" are its own`,
      none,
    ]);
    expect([await notesOf(first), await notesOf(other)]).toEqual([[none], [none]]);
    await expect(notesOf(third)).rejects.toThrow('BulkExportRun x-20260503 has no pods');
  });
});
