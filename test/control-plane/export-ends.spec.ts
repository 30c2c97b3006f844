import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'minio';
import { addressOfRun, partKey } from '#lib/export-plan';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportRun,
  type BulkExportSpec,
  findCondition,
  idOf,
  JOBS,
  LABEL,
  RESOURCES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { formatInstant } from '#lib/time';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from './control-plane.js';

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const DAY = '2026-05-01';
const BUCKET = 'exports';

/** What an attempt has begun and not ended. */
interface Begun {
  readonly key: string;
  readonly uploadId: string;
}

describe('the end of an export between and during attempts', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let projectId: string;
  let url: string;
  let key: string;
  let store: ObjectStore;
  let bucket: Client;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start({ isForExports: true });
    projectId = (await plane.traces.projects.ensure(plane.tenantId, 'p')).id;
    url = await plane.startApi();
    ({ key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' }));
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    const endpoint = spec.config.endpointUrl ?? '';
    store = openObjectStore({ endpoint, allowPrivateEndpoints: true, ...KEYS });
    const { hostname, port } = new URL(endpoint);
    bucket = new Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      region: 'us-east-1',
      accessKey: KEYS.accessKeyId,
      secretKey: KEYS.secretAccessKey,
      pathStyle: true,
    });
  });
  afterAll(async () => {
    store.close();
    await plane.stop();
  });
  beforeEach(() => {
    name = `e${++count}`;
  });

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });
  const theExport = (): Promise<BulkExport> => plane.client.get(RESOURCES.BulkExport, at(name));
  const theRun = (): Promise<BulkExportRun> =>
    plane.client.get(RESOURCES.BulkExportRun, at(`${name}-${DAY.replaceAll('-', '')}`));
  const uploadOf = ({ key: object }: Begun): Promise<string | undefined> =>
    bucket.findUploadId(BUCKET, object);

  async function get(path: string): Promise<Record<string, unknown> & Record<string, unknown>[]> {
    const response = await fetch(`${url}${path}`, { headers: { 'x-api-key': key } });
    return (await response.json()) as Record<string, unknown> & Record<string, unknown>[];
  }

  async function create(object: string, destination: string, more: Partial<BulkExportSpec>): Promise<void> {
    const spec = {
      destinationRef: { name: destination },
      tracingProject: { id: projectId },
      startTime: `${DAY}T00:00:00Z`,
      endTime: '2026-05-02T00:00:00Z',
      ...more,
    };
    await plane.client.create(RESOURCES.BulkExport, { metadata: at(object), spec: spec as BulkExportSpec });
  }

  /** Of one day, with its first attempt. */
  async function begin(destination = 'local'): Promise<void> {
    await create(name, destination, {});
    await attempt(1);
  }

  const conditionOf = async (object: string, type: string) =>
    findCondition((await plane.client.get(RESOURCES.BulkExport, at(object))).status?.conditions, type);
  const accepted = (object: string, reason: string) =>
    waitFor(async () => (await conditionOf(object, 'Accepted'))?.reason === reason, {
      what: `${object} to say ${reason}`,
    });

  const attempt = (number: number) =>
    waitFor(
      async () => {
        const labelSelector = `${LABEL.export}=${name},${LABEL.attempt}=${number}`;
        return (await plane.client.list(JOBS, { namespace: SYSTEM, labelSelector })).items.length > 0;
      },
      { what: `attempt ${number}` },
    );

  /** What a worker does until it dies in the middle of a file. */
  async function work(
    number: number,
    mark: string = randomUUID(),
  ): Promise<Begun & { readonly uid: string }> {
    const { metadata, spec } = await theRun();
    const { uid = '' } = metadata;
    const object = partKey(addressOfRun(spec), 1);
    const { intent } = await plane.traces.exportProgress.claim(uid, number);
    if (intent?.uploadId !== undefined) await store.abortUpload(BUCKET, intent.key, intent.uploadId);
    const { uploadId } = await store.startMultipartUpload(BUCKET, object, { mark });
    const soFar = { rows: 30, bytes: 300, startTime: `${DAY}T12:00:00.000000Z` };
    await plane.traces.exportProgress.recordIntent(uid, number, {
      part: 0,
      key: object,
      mark,
      uploadId,
      soFar,
    });
    return { uid, key: object, uploadId };
  }

  /** The node says how the worker ended. */
  async function end(number: number, terminated: { exitCode: number; signal?: number; reason?: string }) {
    const pods = await waitFor(async () => {
      const found = await plane.pods(`${LABEL.export}=${name},${LABEL.attempt}=${number}`, SYSTEM);
      return found.length > 0 && found;
    });
    const state = { terminated: { ...terminated, finishedAt: new Date().toISOString() } };
    for (const pod of pods) await plane.reportPod(pod, { ready: false, state }, 'Failed');
  }

  const ended = async (reason: string): Promise<void> => {
    for (const find of [theRun, theExport])
      await waitFor(
        async () => findCondition((await find()).status?.conditions, 'Failed')?.reason === reason,
        { what: `${find.name} to say ${reason}` },
      );
  };

  /** Status, reason and message of the export and of its run, by REST and by the resources. */
  async function words() {
    const [bulkExport, run] = [await theExport(), await theRun()];
    const path = `/api/v1/bulk-exports/${idOf(bulkExport)}`;
    const [shown, runs] = [await get(path), await get(`${path}/runs`)];
    const pick = (one: Record<string, unknown> | undefined) => [
      one?.['status_reason'],
      one?.['status_message'],
    ];
    const ready = ({ status }: BulkExport | BulkExportRun) => {
      const condition = findCondition(status?.conditions, 'Ready');
      return [condition?.reason, condition?.message];
    };
    return {
      rest: { export: pick(shown), run: pick(runs[0]) },
      kubectl: { export: ready(bulkExport), run: ready(run) },
      statuses: [shown['status'], runs[0]?.['status']],
    };
  }

  it('keeps a destination that is deleted until the exports that use it have ended', async () => {
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    await plane.client.create(RESOURCES.BulkExportDestination, { metadata: at('leaving'), spec });
    const destination = () => plane.client.find(RESOURCES.BulkExportDestination, at('leaving'));
    const readyOf = async () => findCondition((await destination())?.status?.conditions, 'Ready');
    await waitFor(async () => (await readyOf())?.status === 'True');
    await begin('leaving');
    const begun = await work(1);
    await plane.client.delete(RESOURCES.BulkExportDestination, at('leaving'));
    const ready = await waitFor(async () => {
      const found = await readyOf();
      return found?.reason === 'InUse' && found;
    });
    expect(ready).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`BulkExportDestination leaving is used by export ${name} (`),
    });
    await plane.traces.exportProgress.finish(begun.uid, 1);
    await waitFor(async () => conditionOf(name, 'Completed'), { what: 'the export to complete' });
    await waitFor(async () => (await destination()) === undefined, { what: 'the destination to be deleted' });
  });

  it('stops a running attempt whose destination is deleted by force, and fails without a retry', async () => {
    const { spec } = await plane.client.get(RESOURCES.BulkExportDestination, at('local'));
    await plane.client.create(RESOURCES.BulkExportDestination, { metadata: at('fleeting'), spec });
    await waitFor(
      async () =>
        findCondition(
          (await plane.client.get(RESOURCES.BulkExportDestination, at('fleeting'))).status?.conditions,
          'Ready',
        )?.status === 'True',
    );
    await begin('fleeting');
    const begun = await work(1);
    const ahead = `${name}-ahead`;
    await create(ahead, 'fleeting', {
      startTime: '2098-12-31T00:00:00Z',
      endTime: '2099-01-01T00:00:00Z',
    });
    await accepted(ahead, 'WaitingForWindow');
    await plane.client.merge(RESOURCES.BulkExportDestination, at('fleeting'), {
      metadata: { annotations: { [ANNOTATION.forceDeletion]: 'true' } },
    });
    await plane.client.delete(RESOURCES.BulkExportDestination, at('fleeting'));
    await ended('DestinationDeleted');
    const failed = await waitFor(async () => conditionOf(ahead, 'Failed'), {
      what: `${ahead} to end`,
    });
    expect([failed.reason, failed.message]).toEqual([
      'DestinationDeleted',
      'BulkExportDestination fleeting was deleted while the export was waiting; create the destination again and a new export',
    ]);
    // nothing was accepted with it: it may still be made
    await create(`${name}-late`, 'fleeting', {});
    await accepted(`${name}-late`, 'DestinationMissing');
    await plane.client.merge(RESOURCES.BulkExport, at(`${name}-late`), { spec: { cancel: true } });
    const { rest, kubectl, statuses } = await words();
    expect(statuses).toEqual(['FAILED', 'FAILED']);
    expect(rest).toEqual(kubectl);
    const sentence =
      'BulkExportDestination fleeting was deleted while the export was running; create the destination again and a new export';
    expect(rest.export).toEqual(['DestinationDeleted', sentence]);
    expect(rest.run).toEqual(['DestinationDeleted', sentence]);
    await expect(plane.traces.exportProgress.claim(begun.uid, 9)).rejects.toThrow();
    await waitFor(async () => (await uploadOf(begun)) === undefined, { what: 'the upload to end' });
    const labelSelector = `${LABEL.export}=${name}`;
    expect((await plane.client.list(JOBS, { namespace: SYSTEM, labelSelector })).items).toEqual([]);
  });

  it('clears the upload of an export that is cancelled between two attempts, and no other', async () => {
    const other = { key: 'tenants/own.bin', uploadId: '' };
    await bucket.initiateNewMultipartUpload(BUCKET, other.key, {});
    await begin();
    const begun = await work(1);
    expect(await uploadOf(begun)).toBe(begun.uploadId);
    await end(1, { exitCode: 75 });
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
    await ended('Cancelled');
    await waitFor(async () => (await uploadOf(begun)) === undefined, { what: 'the upload to end' });
    expect(await uploadOf(other)).toBeDefined();
  });

  it('clears the upload of a run whose retries are exhausted', async () => {
    await begin();
    await work(1);
    await end(1, { exitCode: 75 });
    await attempt(2);
    const begun = await work(2);
    await end(2, { exitCode: 75 });
    await waitFor(
      async () => findCondition((await theRun()).status?.conditions, 'Failed')?.reason === 'AttemptFailed',
    );
    await waitFor(async () => (await uploadOf(begun)) === undefined, { what: 'the upload to end' });
  });

  it('stops the attempt of an export that takes too long, and clears its upload', async () => {
    await begin();
    const begun = await work(1);
    expect(await uploadOf(begun)).toBe(begun.uploadId);
    const selector = `${LABEL.export}=${name}`;
    await waitFor(async () => (await plane.pods(selector, SYSTEM)).length === 1);
    await plane.client.mergeStatus(RESOURCES.BulkExport, at(name), {
      status: { startedAt: '2026-01-01T00:00:00Z' },
    });
    await ended('TimedOut');
    const { rest, kubectl, statuses } = await words();
    expect([statuses, rest]).toEqual([['TIMEDOUT', 'TIMEDOUT'], kubectl]);
    await expect(plane.traces.exportProgress.claim(begun.uid, 9)).rejects.toThrow();
    // the Secret goes with a look each minute, once nothing of the worker can come any more
    const left = async (): Promise<readonly unknown[]> => [
      ...(await plane.client.list(JOBS, { namespace: SYSTEM, labelSelector: selector })).items,
      ...(await plane.pods(selector, SYSTEM)),
      ...((await uploadOf(begun)) ?? []),
    ];
    await waitFor(async () => (await left()).length === 0, {
      what: 'Job, pod and upload to be removed',
    });
  });

  it('deletes a finished object that no attempt adopted, when the export is cancelled', async () => {
    await begin();
    const mark = randomUUID();
    const begun = await work(1, mark);
    await store.abortUpload(BUCKET, begun.key, begun.uploadId);
    const upload = await store.startMultipartUpload(BUCKET, begun.key, { mark });
    await upload.write(Buffer.from('rows'));
    await upload.complete();
    const startTime = formatInstant(1_777_600_000_000_000n);
    await plane.traces.exportProgress.recordIntent(begun.uid, 1, {
      part: 0,
      key: begun.key,
      mark,
      uploadId: upload.uploadId,
      rows: 1,
      bytes: 4,
      from: startTime,
      upTo: { startTime, id: randomUUID(), traceId: randomUUID() },
    });
    await end(1, { exitCode: 75 });
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
    await ended('Cancelled');
    await waitFor(async () => (await store.stat(BUCKET, begun.key)) === undefined, {
      what: 'the object to be deleted',
    });
  });

  it('clears the upload of an export that is deleted', async () => {
    await begin();
    const begun = await work(1);
    await plane.client.delete(RESOURCES.BulkExport, at(name));
    await waitFor(async () => (await uploadOf(begun)) === undefined, { what: 'the upload to end' });
    await waitFor(async () => (await plane.traces.exportProgress.find(begun.uid)) === undefined);
  });

  it('ends without a complaint', () => {
    expect(plane.complaints).toEqual([]);
  });
});
