import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EmbeddedObjectStore, type FaultHook, startObjectStore } from '#lib/embedded-object-store';
import { partKey } from '#lib/export-plan';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import { openPool, type Pool } from '#lib/postgres';
import { type BulkExportRun, exportJobName, NAMESPACES, SECRETS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import {
  FakeClock,
  temporaryFolder,
  testEmbeddedKube,
  testPostgres,
  waitFor,
  testKubeClient,
} from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { LeftUploads } from './left-uploads.js';

const BUCKET = 'exports';
const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('LeftUploads', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const postgres = testPostgres();
  const folder = temporaryFolder();
  const log = createLogger('test', 'silent');
  const runs: BulkExportRun[] = [];
  let traces: TraceStore;
  let pool: Pool;
  let objects: EmbeddedObjectStore;
  let store: ObjectStore;
  let uploads: LeftUploads;
  let fault: FaultHook | undefined;
  let dripping: Server;
  let dripsAt: string;
  let dripped = 0;

  beforeAll(async () => {
    await client.create(NAMESPACES, { metadata: { name: 'system' } });
    const { uri } = await postgres.freshDatabase();
    traces = openTraceStore({ uri, log, clock: systemClock });
    await traces.migrate();
    pool = openPool({ uri, log, applicationName: 'test' });
    objects = await startObjectStore({
      folder,
      host: '127.0.0.1',
      port: 0,
      log,
      buckets: [BUCKET],
      ...KEYS,
      fault: (target) => fault?.(target),
    });
    const address = { endpoint: objects.endpoint, allowPrivateEndpoints: true };
    store = openObjectStore({ ...address, ...KEYS });
    uploads = leftUploads();
    // never silent, never at the end of its headers
    dripping = createServer(({ socket }) => {
      dripped++;
      const more = setInterval(() => socket.write('x'), 20);
      socket.once('close', () => clearInterval(more)).write('HTTP/1.1 200 OK\r\nx-more: ');
    });
    await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
    dripsAt = `http://127.0.0.1:${(dripping.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    dripping.closeAllConnections();
    dripping.close();
    store.close();
    await pool.end();
    await objects.stop();
    await traces.close();
  });

  function leftUploads(clock: Clock = systemClock, isLeader = true): LeftUploads {
    return new LeftUploads({
      client,
      traceStore: traces,
      runs: { list: () => runs },
      clock,
      log,
      workspaces: { byIndex: () => [] } as never,
      leader: { isLeader },
      systemNamespace: 'system',
      allowPrivateEndpoints: true,
    });
  }

  /** A run that was cancelled while its attempt wrote, and what the attempt began. */
  async function cancelled(endpointUrl = objects.endpoint, namespace = 'default') {
    const uid = randomUUID();
    const ids = { exportId: randomUUID(), tenantId: randomUUID(), projectId: randomUUID() };
    const files = { format: 'parquet', formatVersion: 'v1', compression: 'zstd' } as const;
    const key = partKey({ prefix: '', ...ids, ...files, day: '2026-05-01' }, 1);
    const run = {
      metadata: { name: uid, namespace, uid },
      spec: {
        ...ids,
        ...files,
        startTime: '2026-05-01T00:00:00Z',
        destination: {
          config: { bucketName: BUCKET, endpointUrl, includeBucketInPrefix: true },
          credentialsSecretName: 'none',
        },
      },
      status: { attempt: 1 },
    } as unknown as BulkExportRun;
    runs.push(run);
    await client.create(SECRETS, {
      metadata: { namespace: 'system', name: exportJobName(uid, 1) },
      data: { access_key_id: base64(KEYS.accessKeyId), secret_access_key: base64(KEYS.secretAccessKey) },
    });
    await traces.exportProgress.claim(uid, 1);
    const mark = randomUUID();
    const { uploadId } = await store.startMultipartUpload(BUCKET, key, { mark });
    await traces.exportProgress.recordIntent(uid, 1, { part: 0, key, mark, uploadId });
    await traces.exportProgress.cancel(uid);
    return { uid, key, mark, uploadId, run };
  }

  const age = (uid: string, hours: number) =>
    pool.query(
      'UPDATE export_progress SET updated_at = now() - make_interval(hours => $2) WHERE run_uid = $1',
      [uid, hours],
    );
  const intentOf = async (uid: string) => (await traces.exportProgress.find(uid))?.intent;
  const findSecret = (uid: string) =>
    client.find(SECRETS, { namespace: 'system', name: exportJobName(uid, 1) });

  /** True when the upload is gone: another part of it is refused then. */
  async function isAborted(key: string): Promise<boolean> {
    const { Client } = await import('minio');
    const { hostname, port } = new URL(objects.endpoint);
    const plain = new Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      region: 'us-east-1',
      accessKey: KEYS.accessKeyId,
      secretKey: KEYS.secretAccessKey,
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
    const later = leftUploads();
    await later.sweep();
    expect([await intentOf(uid), await findSecret(uid)]).toEqual([undefined, undefined]);
  });

  it('does nothing while another candidate leads', async () => {
    const { uid } = await cancelled();
    await age(uid, 1);
    const standby = leftUploads(systemClock, false);
    await standby.sweep();
    expect(await intentOf(uid)).toBeDefined();
  });

  it('clears what is older than a day where it was never tried', async () => {
    const { uid, key } = await cancelled();
    await age(uid, 25);
    await leftUploads().sweep();
    expect([await intentOf(uid), await isAborted(key)]).toEqual([undefined, true]);
  });

  it('settles a run whose key may only write, and removes its Secret', async () => {
    const { uid, key, mark } = await cancelled();
    const intent = JSON.stringify({ part: 0, key, mark });
    await pool.query(`UPDATE export_progress SET intent = $2 WHERE run_uid = $1`, [uid, intent]);
    await age(uid, 1);
    fault = ({ method }) => (method === 'PUT' ? undefined : { kind: 'error', code: 'AccessDenied' });
    try {
      await leftUploads().sweep();
    } finally {
      fault = undefined;
    }
    expect([await intentOf(uid), await findSecret(uid)]).toEqual([undefined, undefined]);
  });

  it('reaches what one workspace left behind hundreds of another', async () => {
    const uids = Array.from({ length: 250 }, () => randomUUID());
    const { uid, run } = await cancelled();
    for (const other of uids)
      runs.push({ ...run, metadata: { name: other, namespace: 'crowd', uid: other } });
    await pool.query(
      `INSERT INTO export_progress (run_uid, attempt, state, intent, updated_at)
        SELECT unnest($1::text[]), 1, 'cancelled', '{"part":0,"key":"k"}', now() - interval '2 hours'`,
      [uids],
    );
    await age(uid, 1);
    await leftUploads().sweep();
    expect(await intentOf(uid)).toBeUndefined();
    expect(await intentOf(uids[0] ?? '')).toBeDefined();
    await pool.query('DELETE FROM export_progress WHERE run_uid = ANY($1)', [uids]);
  });

  it('gives up a store that says a byte now and then, and tries it again later', async () => {
    const clock = new FakeClock(new Date());
    const { uid } = await cancelled(dripsAt);
    await age(uid, 1);
    const before = dripped;
    const sweeping = leftUploads(clock).sweep();
    await waitFor(() => dripped > before);
    await clock.advance(30_000);
    await sweeping;
    expect(await intentOf(uid)).toBeDefined();
    await pool.query('DELETE FROM export_progress WHERE run_uid = $1', [uid]);
  });

  it('has places for others while the stores of one workspace never answer', async () => {
    const clock = new FakeClock(new Date());
    const crowded = leftUploads(clock);
    const begin = async ({ run, uid }: { run: BulkExportRun; uid: string }): Promise<void> => {
      const record = await traces.exportProgress.find(uid);
      if (record) crowded.begin(run, record, true);
    };
    for (let n = 0; n < 8; n++) await begin(await cancelled(dripsAt, 'hostile'));
    const { run, uid } = await cancelled();
    await begin({ run, uid });
    await waitFor(async () => (await intentOf(uid)) === undefined);
    const stopping = crowded.stop();
    await clock.advance(5_000);
    await stopping;
  });
});
