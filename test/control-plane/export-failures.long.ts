import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client as StoreClient } from 'minio';
import pg from 'pg';
import type { FaultTarget } from '#lib/embedded-object-store';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportRun,
  type BulkExportSpec,
  exportRunWireStatus,
  exportWireStatus,
  findCondition,
  idOf,
  LABEL,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, SYSTEM, testControlPlane } from './control-plane.js';
import { WorkerNode } from './worker-node.js';

const DAYS = ['2026-05-01', '2026-05-02'] as const;
const RUN_LIMIT_MS = 15_000;
const KEYS = { access_key_id: 'AKTEST', secret_access_key: 'secret' };

/** What is said of an export or a run, in whichever interface. */
interface Said {
  readonly status: unknown;
  readonly reason: unknown;
  readonly message: unknown;
  /** Of a run. */
  readonly errors?: unknown;
}

/** How a row of the interface's failure table ends. */
interface End {
  readonly export: Said;
  /** Of the first day. */
  readonly run: Said;
  /** Attempts of the first day. */
  readonly attempts: number;
}

const failed = (reason: string, message: string, errors?: Readonly<Record<string, string>>): Said => ({
  status: 'FAILED',
  reason,
  message,
  errors: errors ?? null,
});

const isPart = ({ query }: FaultTarget): boolean => query.has('partNumber');
const isBegin = ({ method, query }: FaultTarget): boolean => method === 'POST' && query.has('uploads');

describe('the failure table of exports', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let node: WorkerNode;
  let sql: pg.Client;
  let url: string;
  let key: string;
  let endpoint: string;
  let count = 0;
  let name: string;

  beforeAll(async () => {
    plane = await start();
    await startController({});
    sql = new pg.Client({ connectionString: plane.databaseUri });
    sql.on('error', () => undefined);
    await sql.connect();
    url = await plane.startApi();
    ({ key } = await plane.traces.apiKeys.mint(plane.tenantId, { name: 'test', scope: 'workspace' }));
    endpoint =
      (await plane.client.get(RESOURCES.BulkExportDestination, at('local'))).spec.config.endpointUrl ?? '';
    node = new WorkerNode(plane);
  });
  afterAll(async () => {
    await node.stop();
    await sql.end();
    await plane.stop();
  });
  beforeEach(() => {
    name = `f${++count}`;
  });
  afterEach(() => {
    plane.fault = undefined;
  });

  const at = (object: string) => ({ namespace: NAMESPACE, name: object });
  const theExport = (): Promise<BulkExport> => plane.client.get(RESOURCES.BulkExport, at(name));
  const theRun = (): Promise<BulkExportRun> =>
    plane.client.get(RESOURCES.BulkExportRun, at(`${name}-${DAYS[0].replaceAll('-', '')}`));

  async function startController(more: Readonly<Record<string, string>>): Promise<void> {
    await plane.program('controller').end('SIGTERM');
    await plane.startController({
      AGENTPLANE_EXPORT_RUN_TIMEOUT_MS: String(RUN_LIMIT_MS),
      // the first day fails first
      AGENTPLANE_EXPORT_CONCURRENT_RUNS: '1',
      ...more,
    });
  }

  /** A project with a run on each of two days. */
  async function project(): Promise<string> {
    const post = DAYS.map((day) => ({
      run: Buffer.from(
        JSON.stringify({
          id: randomUUID(),
          run_type: 'chain',
          name: 'r',
          session_name: name,
          start_time: `${day}T12:00:00Z`,
        }),
      ),
      fields: { inputs: Buffer.from('{}') },
    }));
    await plane.traces.ingest(plane.tenantId, { post, patch: [] });
    return (await plane.traces.projects.ensure(plane.tenantId, name)).id;
  }

  async function begin(destination = 'local', more: Partial<BulkExportSpec> = {}): Promise<void> {
    const spec = {
      destinationRef: { name: destination },
      tracingProject: { id: await project() },
      startTime: `${DAYS[0]}T00:00:00Z`,
      endTime: '2026-05-03T00:00:00Z',
      ...more,
    };
    await plane.client.create(RESOURCES.BulkExport, { metadata: at(name), spec: spec as BulkExportSpec });
  }

  /** A destination of its own, and an export to it whose runs are made and wait. */
  async function beginSuspended(bucketName: string): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(KEYS).map(([field, value]) => [field, Buffer.from(value).toString('base64')]),
    );
    await plane.client.create(SECRETS, { metadata: at(name), data });
    await plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at(name),
      spec: {
        type: 'object_store',
        config: { bucketName, endpointUrl: endpoint, includeBucketInPrefix: true },
        credentialsSecretRef: { name },
      },
    });
    await begin(name, { suspend: true });
    await waitFor(theRun, { what: 'the first run' });
  }

  const resume = () => plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { suspend: false } });

  async function get(path: string): Promise<Record<string, unknown> & Record<string, unknown>[]> {
    const response = await fetch(`${url}/api/v1/bulk-exports${path}`, { headers: { 'x-api-key': key } });
    return (await response.json()) as Record<string, unknown> & Record<string, unknown>[];
  }

  async function byRest(): Promise<{ export: Said; run: Said }> {
    const id = idOf(await theExport());
    const [shown, [run]] = [await get(`/${id}`), await get(`/${id}/runs`)];
    const of = (one: Record<string, unknown> | undefined) => ({
      status: one?.['status'],
      reason: one?.['status_reason'],
      message: one?.['status_message'],
    });
    return { export: of(shown), run: { ...of(run), errors: run?.['errors'] } };
  }

  /** The columns of `kubectl get`, which are those of Ready, and `status.errors`. */
  async function byKubectl(): Promise<{ export: Said; run: Said }> {
    const [bulkExport, run] = [await theExport(), await theRun()];
    const of = ({ status }: BulkExport | BulkExportRun) => {
      const ready = findCondition(status?.conditions, 'Ready');
      return { reason: ready?.reason, message: ready?.message };
    };
    return {
      export: { status: exportWireStatus(bulkExport), ...of(bulkExport) },
      run: { status: exportRunWireStatus(run), ...of(run), errors: run.status?.errors ?? null },
    };
  }

  /** Failed of both has the words of Ready, so that whoever looks at either reads the same. */
  async function expectFailedAsReady(): Promise<void> {
    for (const { status } of [await theExport(), await theRun()]) {
      const [one, ready] = ['Failed', 'Ready'].map((type) => findCondition(status?.conditions, type));
      if (one) expect([one.reason, one.message]).toEqual([ready?.reason, ready?.message]);
    }
  }

  const hasEnded = async (): Promise<boolean> => {
    const { export: one, run } = await byKubectl();
    return [one.status, run.status].every((status) => status !== 'CREATED' && status !== 'RUNNING');
  };

  async function expectEnd(end: End): Promise<void> {
    await waitFor(hasEnded, { what: `${name} to end` });
    const said = await byKubectl();
    const { errors: _, ...ofExport } = end.export;
    expect(said).toEqual({ export: ofExport, run: end.run });
    await waitFor(async () => JSON.stringify(await byRest()) === JSON.stringify(said)).catch(() => undefined);
    expect(await byRest()).toEqual(said);
    await expectFailedAsReady();
    expect((await theRun()).status?.attempt).toBe(end.attempts);
  }

  const runFailed = (message: string): Said =>
    failed('RunFailed', `day ${name}-${DAYS[0].replaceAll('-', '')} failed: ${message}`);

  /** What the embedded store says to the refusals of these tests. */
  const SENTENCES: Readonly<Record<string, string>> = {
    AccessDenied: 'Injected fault.',
    InvalidAccessKeyId: 'The access key id you provided does not exist in our records.',
    NoSuchBucket: 'The specified bucket does not exist.',
  };
  const refusedBy = (code: string, attempted: string): string =>
    `The object store answered ${code} to: ${attempted}; it says: ${SENTENCES[code]}`;

  /** The first request for a file, as messages name it. */
  async function uploadOf(bucket: string): Promise<string> {
    const { spec } = await theRun();
    const { exportId, tenantId, projectId } = spec;
    const place = `export_id=${exportId}/tenant_id=${tenantId}/session_id=${projectId}/runs/year=2026/month=5/day=1`;
    return `start an upload of ${place}/part-00001.parquet to bucket ${bucket}`;
  }

  it('repeats an attempt after an interruption of the infrastructure, and completes', async () => {
    plane.fault = (target) => (isPart(target) ? { kind: 'delay', ms: 60_000 } : undefined);
    await begin();
    await node.kill(name);
    plane.fault = undefined;
    const killed = 'the worker was killed by SIGKILL (exit code 137, no memory limit)';
    const errors = await waitFor(async () => (await byRest()).run.errors ?? undefined);
    expect(errors).toEqual({ retry_0: killed });
    await expectEnd({
      export: { status: 'COMPLETED', reason: 'Completed', message: 'every day is completed' },
      run: {
        status: 'COMPLETED',
        reason: 'Completed',
        message: 'every row is exported',
        errors: { retry_0: killed },
      },
      attempts: 2,
    });
  });

  it('says within three seconds why an attempt failed, in both interfaces', async () => {
    await startController({ AGENTPLANE_EXPORT_RETRY_DELAY_MS: '60000' });
    const refusedAt: number[] = [];
    plane.fault = (target) => {
      if (!isPart(target)) return undefined;
      refusedAt.push(performance.now());
      return { kind: 'error', code: 'NoSuchUpload' };
    };
    await begin();
    const words = 'The object store answered NoSuchUpload to: send part 1';
    const shownAt = await waitFor(
      async () => {
        const both = [await byRest(), await byKubectl()];
        const isSaid = both.every(
          ({ export: one, run }) => JSON.stringify([one, run]).split(words).length > 2,
        );
        return isSaid && performance.now();
      },
      { what: 'the words of the store' },
    );
    const [last = 0] = refusedAt.slice(-1);
    expect(shownAt - last).toBeLessThan(3_000);
    process.stderr.write(
      `said ${Math.round(shownAt - last)} ms after the last of ${refusedAt.length} refusals\n`,
    );
    await plane.client.merge(RESOURCES.BulkExport, at(name), { spec: { cancel: true } });
    await waitFor(hasEnded);
    await startController({});
  });

  it('fails a run whose attempts take too long, after the last retry', async () => {
    plane.fault = (target) => (isPart(target) ? { kind: 'delay', ms: 120_000 } : undefined);
    await begin();
    const cause = 'the attempt took longer than 15 s';
    await waitFor(async () => (await byRest()).run.errors ?? undefined);
    const message = `2 attempts failed, the last with: ${cause}`;
    await expectEnd({
      export: runFailed(message),
      run: failed('AttemptFailed', message, { retry_0: cause, retry_1: cause }),
      attempts: 2,
    });
  });

  it('fails a run that runs out of resources, after the last retry', async () => {
    plane.fault = (target) => (isPart(target) ? { kind: 'delay', ms: 60_000 } : undefined);
    await begin();
    await node.kill(name, 'OOMKilled');
    const cause = 'the worker ran out of memory (exit code 137, no memory limit)';
    await waitFor(async () => (await byRest()).run.errors ?? undefined);
    await node.kill(name, 'OOMKilled');
    const message = `2 attempts failed, the last with: ${cause}`;
    await expectEnd({
      export: runFailed(message),
      run: failed('AttemptFailed', message, { retry_0: cause, retry_1: cause }),
      attempts: 2,
    });
  });

  it('fails a run with a row that no file can hold, after the last retry', async () => {
    await begin('local', { suspend: true });
    await waitFor(theRun);
    const { projectId } = (await theRun()).spec;
    await sql.query("UPDATE runs SET first_token_time = 'infinity' WHERE project_id = $1", [projectId]);
    await resume();
    const cause = 'exporting a time failed: it is infinite';
    const message = `2 attempts failed, the last with: ${cause}`;
    await expectEnd({
      export: runFailed(message),
      run: failed('AttemptFailed', message, { retry_0: cause, retry_1: cause }),
      attempts: 2,
    });
  });

  /** The end of a run whose first request to the store is refused for good. */
  async function expectRefusal(code: string, bucket: string): Promise<void> {
    await waitFor(hasEnded);
    const message = refusedBy(code, await uploadOf(bucket));
    await expectEnd({
      export: runFailed(message),
      run: failed('StorageFailed', message, { retry_0: message }),
      attempts: 1,
    });
  }

  it('fails at once where the credentials are not valid', async () => {
    await beginSuspended('exports');
    const data = { access_key_id: Buffer.from('AKNOBODY').toString('base64') };
    await plane.client.merge(SECRETS, at(name), { data });
    await resume();
    await expectRefusal('InvalidAccessKeyId', 'exports');
  });

  it('fails at once where the bucket does not exist', async () => {
    const { hostname, port } = new URL(endpoint);
    const store = new StoreClient({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      region: 'us-east-1',
      pathStyle: true,
      accessKey: KEYS.access_key_id,
      secretKey: KEYS.secret_access_key,
    });
    await store.makeBucket('fleeting');
    await beginSuspended('fleeting');
    await store.removeBucket('fleeting');
    await resume();
    await expectRefusal('NoSuchBucket', 'fleeting');
  });

  it('fails at once where a permission is missing', async () => {
    plane.fault = (target) => (isBegin(target) ? { kind: 'error', code: 'AccessDenied' } : undefined);
    await begin();
    await expectRefusal('AccessDenied', 'exports');
  });

  it('fails at once when the destination is deleted', async () => {
    plane.fault = (target) => (isPart(target) ? { kind: 'delay', ms: 60_000 } : undefined);
    await beginSuspended('exports');
    await resume();
    await waitFor(async () => (await theRun()).status?.attempt === 1);
    await plane.client.merge(RESOURCES.BulkExportDestination, at(name), {
      metadata: { annotations: { [ANNOTATION.forceDeletion]: 'true' } },
    });
    await plane.client.delete(RESOURCES.BulkExportDestination, at(name));
    const message = `BulkExportDestination ${name} was deleted while the export was running; create the destination again and a new export`;
    await expectEnd({
      export: failed('DestinationDeleted', message),
      run: failed('DestinationDeleted', message),
      attempts: 1,
    });
  });

  it('ends a cancelled export with all of its runs', async () => {
    await begin('local', { suspend: true });
    await waitFor(async () => (await byRest()).export.reason === 'Suspended');
    // a run says so in a pass of its own
    await waitFor(async () => (await byRest()).run.reason === 'Queued');
    expect(await byRest()).toEqual(await byKubectl());
    expect([(await byRest()).export.status, (await byRest()).run.status]).toEqual(['CREATED', 'CREATED']);
    const id = idOf(await theExport());
    expect(await get(`/${id}`)).toMatchObject({ paused: true });
    await fetch(`${url}/api/v1/bulk-exports/${id}`, {
      method: 'PATCH',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ status: 'Cancelled' }),
    });
    await expectEnd({
      export: { status: 'CANCELLED', reason: 'Cancelled', message: 'cancelled on request' },
      run: {
        status: 'CANCELLED',
        reason: 'Cancelled',
        message: 'the export was cancelled',
        errors: null,
      },
      attempts: 0,
    });
  });

  it('ends an export that takes too long without a retry', async () => {
    await startController({ AGENTPLANE_EXPORT_TIMEOUT_MS: '3000' });
    plane.fault = (target) => (isPart(target) ? { kind: 'delay', ms: 60_000 } : undefined);
    await begin();
    const message = 'the export took longer than 3 s; export a shorter window';
    const said = { status: 'TIMEDOUT', reason: 'TimedOut', message, errors: null };
    await expectEnd({ export: said, run: said, attempts: 1 });
    await waitFor(async () => (await plane.pods(`${LABEL.export}=${name}`, SYSTEM)).length === 0, {
      what: 'no pod to be left',
    });
  });
});
