import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { partKey } from '#lib/export-plan';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import { openPool, type Pool } from '#lib/postgres';
import { type BulkExportRun, exportJobName, NAMESPACES, SECRETS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testEmbeddedKube, testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { LeftUploads } from './left-uploads.js';

const BUCKET = 'exports';
const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('LeftUploads', () => {
  const server = testEmbeddedKube();
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const log = createLogger('test', 'silent');
  const runs: BulkExportRun[] = [];
  let client: KubeClient;
  let traces: TraceStore;
  let pool: Pool;
  let objects: EmbeddedObjectStore;
  let store: ObjectStore;
  let uploads: LeftUploads;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }), {
      fieldManager: 'test',
    });
    await client.create(NAMESPACES, { metadata: { name: 'system' } });
    const { uri } = await postgres.freshDatabase();
    traces = openTraceStore({ uri, log, clock: systemClock });
    await traces.migrate();
    pool = openPool({ uri, log, applicationName: 'test' });
    objects = await startObjectStore({
      ...{ folder, host: '127.0.0.1', port: 0, log, buckets: [BUCKET] },
      ...KEYS,
    });
    const address = { endpoint: objects.endpoint, allowPrivateEndpoints: true };
    store = openObjectStore({ ...address, ...KEYS });
    uploads = new LeftUploads({
      client,
      traceStore: traces,
      runs: { list: () => runs },
      workspaces: { byIndex: () => [] } as never,
      leader: { isLeader: true },
      systemNamespace: 'system',
      allowPrivateEndpoints: true,
      clock: systemClock,
      log,
    });
  });
  afterAll(async () => {
    store.close();
    await pool.end();
    await objects.stop();
    await traces.close();
    await client.close();
  });

  /** A run that was cancelled while its attempt wrote, and what the attempt began. */
  async function cancelled(endpointUrl = objects.endpoint) {
    const uid = randomUUID();
    const ids = { exportId: randomUUID(), tenantId: randomUUID(), projectId: randomUUID() };
    const key = partKey({ prefix: '', ...ids, formatVersion: 'v1', day: '2026-05-01' }, 1);
    runs.push({
      metadata: { name: uid, namespace: 'default', uid },
      spec: {
        ...{ ...ids, formatVersion: 'v1', startTime: '2026-05-01T00:00:00Z' },
        destination: {
          config: { bucketName: BUCKET, endpointUrl, includeBucketInPrefix: true },
          credentialsSecretName: 'none',
        },
      },
      status: { attempt: 1 },
    } as unknown as BulkExportRun);
    await client.create(SECRETS, {
      metadata: { namespace: 'system', name: exportJobName(uid, 1) },
      data: { access_key_id: base64(KEYS.accessKeyId), secret_access_key: base64(KEYS.secretAccessKey) },
    });
    await traces.exportProgress.claim(uid, 1);
    const mark = randomUUID();
    const { uploadId } = await store.startMultipartUpload(BUCKET, key, { mark });
    await traces.exportProgress.recordIntent(uid, 1, { part: 0, key, mark, uploadId });
    await traces.exportProgress.cancel(uid);
    return { uid, key, mark, uploadId };
  }

  const age = (uid: string, hours: number) =>
    pool.query(
      'UPDATE export_progress SET updated_at = now() - make_interval(hours => $2) WHERE run_uid = $1',
      [uid, hours],
    );
  const intentOf = async (uid: string) => (await traces.exportProgress.find(uid))?.intent;
  const findSecret = (uid: string) =>
    client.find(SECRETS, { namespace: 'system', name: exportJobName(uid, 1) });

  /** Whether the upload is gone: another part of it is refused then. */
  async function isAborted(key: string): Promise<boolean> {
    const { Client } = await import('minio');
    const { hostname, port } = new URL(objects.endpoint);
    const plain = new Client({
      ...{ endPoint: hostname, port: Number(port), useSSL: false, region: 'us-east-1' },
      ...{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey },
    });
    return (await plain.findUploadId(BUCKET, key)) === undefined;
  }

  it('clears what a run left, once its worker must have ended', async () => {
    const { uid, key } = await cancelled();
    await uploads.sweep();
    expect(await intentOf(uid)).toBeDefined();
    await age(uid, 1);
    await uploads.sweep();
    expect([await intentOf(uid), await isAborted(key)]).toEqual([undefined, true]);
    expect(await findSecret(uid)).toBeUndefined();
  });

  it('touches no upload whose key is not that of the run', async () => {
    const { uid } = await cancelled();
    const { uploadId } = await store.startMultipartUpload(BUCKET, 'others/own.bin');
    await pool.query(`UPDATE export_progress SET intent = $2 WHERE run_uid = $1`, [
      uid,
      JSON.stringify({ part: 0, key: 'others/own.bin', uploadId }),
    ]);
    await age(uid, 1);
    await uploads.sweep();
    expect([await intentOf(uid), await isAborted('others/own.bin')]).toEqual([undefined, false]);
  });

  it('keeps what it could not clear for a later try, and gives up after a day', async () => {
    const { uid } = await cancelled('http://127.0.0.1:9');
    await age(uid, 1);
    await uploads.sweep();
    expect(await intentOf(uid)).toBeDefined();
    expect(await findSecret(uid)).toBeDefined();
    await age(uid, 25);
    const later = new LeftUploads({
      ...{
        client,
        traceStore: traces,
        runs: { list: () => runs },
        workspaces: { byIndex: () => [] } as never,
      },
      ...{ leader: { isLeader: true }, systemNamespace: 'system', allowPrivateEndpoints: true },
      ...{ clock: systemClock, log },
    });
    await later.sweep();
    expect([await intentOf(uid), await findSecret(uid)]).toEqual([undefined, undefined]);
  });

  it('does nothing while another candidate leads', async () => {
    const { uid } = await cancelled();
    await age(uid, 1);
    const standby = new LeftUploads({
      ...{
        client,
        traceStore: traces,
        runs: { list: () => runs },
        workspaces: { byIndex: () => [] } as never,
      },
      ...{ leader: { isLeader: false }, systemNamespace: 'system', allowPrivateEndpoints: true },
      ...{ clock: systemClock, log },
    });
    await standby.sweep();
    expect(await intentOf(uid)).toBeDefined();
  });
});
