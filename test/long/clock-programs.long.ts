import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { PLATFORM_VERSION } from '#lib/config';
import { startObjectStore, type EmbeddedObjectStore } from '#lib/embedded-object-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { keyOf, NAMESPACES, NODES, type Pod, PODS, SERVICE_ACCOUNTS } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { steppedClock, temporaryFolder, testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import { WorkerProcess } from '../../apps/export-worker/testdata/worker-process.js';
import { type ControlPlane, testControlPlane } from '../control-plane/control-plane.js';
import { Program } from '../control-plane/program.js';

const HOUR_S = 3_600;
const HOUR_MS = HOUR_S * 1_000;
const MINUTE_MS = 60_000;
const BOTH_WAYS = [
  ['forward', HOUR_S],
  ['back', -HOUR_S],
] as const;
const clock = steppedClock();
const log = createLogger('test', 'silent');
if (!clock)
  process.stderr.write(
    '\n*** LEFT OUT: libfaketime is missing, so no clock was set ("apt-get install faketime").\n\n',
  );
const faked = clock ? describe : describe.skip;
const set = (seconds: number): void => clock?.step(seconds);
const isNear = (time: string, ms = Date.now()): boolean => Math.abs(Date.parse(time) - ms) < MINUTE_MS;
afterEach(() => set(0));

faked('an api whose clock is set', () => {
  const start = testControlPlane();
  let plane: ControlPlane;
  let url: string;
  let key: string;
  beforeAll(async () => {
    plane = await start();
    url = await plane.startApi(clock?.environment);
    key = (await plane.traces.apiKeys.mint(plane.tenantId, { name: 'k', scope: 'workspace' })).key;
  });
  afterAll(() => plane.stop());

  async function call(path: string, body?: unknown, as = key) {
    const response = await fetch(url + path, {
      headers: { 'x-api-key': as, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      date: response.headers.get('date') ?? '',
      json: (await response.json()) as Record<string, string>,
    };
  }

  it.each(BOTH_WAYS)('judges keys, and dates rows, by the database when it is set %s', async (way, by) => {
    const { key: lasting } = (await call('/api/v1/api-key', { expires_at: inMs(HOUR_MS / 2) })).json;
    set(by);
    await waitFor(async () => isNear((await call('/info')).date, Date.now() + by * 1_000));
    const ends = async (ms: number) => call('/api/v1/api-key', { expires_at: inMs(ms) });
    expect([(await ends(HOUR_MS / 2)).status, (await ends(-HOUR_MS / 2)).status]).toEqual([200, 422]);
    expect((await call('/sessions', undefined, lasting)).status).toBe(200);
    const made = await call('/sessions', { name: `made-${way}` });
    expect([made.status, isNear(made.json['start_time'] ?? '')]).toEqual([200, true]);
    const run = { id: randomUUID(), name: 'r', run_type: 'chain', session_name: `made-${way}` };
    expect((await call('/runs', run)).status).toBe(202);
    expect(isNear((await call(`/runs/${run.id}`)).json['start_time'] ?? '')).toBe(true);
  });

  const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
});

faked('an export worker whose clock is set', () => {
  const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
  const TENANT = randomUUID();
  const postgres = testPostgres();
  const folder = temporaryFolder();
  let uri: string;
  let traces: TraceStore;
  let store: EmbeddedObjectStore;
  let projectId: string;
  beforeAll(async () => {
    uri = (await postgres.freshDatabase()).uri;
    traces = openTraceStore({ uri, poolSize: 2, log, clock: systemClock });
    await traces.migrate();
    const post = Array.from({ length: 500 }, () => ({
      run: Buffer.from(
        JSON.stringify({
          id: randomUUID(),
          name: 'r',
          run_type: 'chain',
          session_name: 'p',
          start_time: '2026-05-01T10:00:00Z',
          end_time: '2026-05-01T10:00:01Z',
        }),
      ),
    }));
    expect(await traces.ingest(TENANT, { post, patch: [] })).toMatchObject({ accepted: 500 });
    projectId = (await traces.projects.ensure(TENANT, 'p')).id;
    store = await startObjectStore({
      folder,
      host: '127.0.0.1',
      port: 0,
      log,
      buckets: ['exports'],
      ...KEYS,
    });
  });
  afterAll(async () => {
    await store.stop();
    await traces.close();
  });

  it.each(BOTH_WAYS)(
    'names the clock when the store refuses it, and completes as another attempt: %s',
    async (_, by) => {
      const uid = randomUUID();
      const config = { bucketName: 'exports', endpointUrl: store.endpoint, includeBucketInPrefix: true };
      const spec = {
        exportName: 'e',
        exportId: randomUUID(),
        tenantId: TENANT,
        projectId,
        format: 'parquet',
        formatVersion: 'v1',
        startTime: '2026-05-01T00:00:00Z',
        endTime: '2026-05-02T00:00:00Z',
        compression: 'zstd',
        destination: { config, credentialsSecretName: 's' },
      };
      const work = async (attempt: number): Promise<number | NodeJS.Signals> =>
        new WorkerProcess({
          AGENTPLANE_DATABASE_URI: uri,
          AGENTPLANE_EXPORT_RUN_UID: uid,
          AGENTPLANE_EXPORT_ATTEMPT: String(attempt),
          AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
          AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
          AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
          AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
          ...clock?.environment,
        }).ended;
      set(by);
      expect(await work(1)).toBe(75); // the next attempt is the controller's
      expect((await traces.exportProgress.find(uid))?.error).toContain('RequestTimeTooSkewed');
      set(0);
      expect(await work(2)).toBe(0);
      expect(await traces.exportProgress.find(uid)).toMatchObject({
        state: 'completed',
        rows: 500,
        files: 1,
      });
    },
  );
});

faked('a Postgres whose clock is set', () => {
  const postgres = testPostgres({ ownServer: true, environment: clock?.environment });
  const folder = temporaryFolder();

  it.each(BOTH_WAYS)('loses and doubles no run when it is set %s', async (way, by) => {
    const { uri } = await postgres.freshDatabase();
    const database = new pg.Client(uri);
    await database.connect();
    // a run's limit of time, an hour, is by the database as well
    const env = { AGENTPLANE_RUN_LEASE_MS: '1500', BG_JOB_TIMEOUT_SECS: '7200' };
    const servers = [await ServerProcess.start({ uri, env }), await ServerProcess.start({ uri, env })];
    try {
      const begin = async (server: ServerProcess | undefined) => {
        const client = server?.client();
        if (!client) throw new Error('no server');
        const { thread_id: threadId } = await client.threads.create();
        const input = { waitMs: 1_500, file: join(folder, `${way}-${threadId}`) };
        const { run_id: runId } = await client.runs.create(threadId, 'slow', { input });
        return { client, threadId, runId, file: input.file };
      };
      const before = await Promise.all([...servers, ...servers].map(begin));
      for (const { file } of before) await waitFor(() => existsSync(file));
      set(by);
      await waitFor(async () => {
        const { rows } = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
        return isNear(rows[0]?.now.toISOString() ?? '', Date.now() + by * 1_000);
      });
      const after = await Promise.all(servers.map(begin));
      for (const { client, threadId, runId } of [...before, ...after]) {
        await waitFor(async () => (await client.runs.get(threadId, runId)).status === 'success');
        const { values } = await client.threads.getState<{ steps: string[] }>(threadId);
        expect(values.steps).toEqual(['first', 'second', 'third']);
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop('SIGKILL')));
      await database.end();
    }
  });
});

faked('the embedded servers whose clock is set', () => {
  const NAMESPACE = 'ws-clock';
  const postgres = testPostgres();
  const data = temporaryFolder();
  let program: Program;
  let client: KubeClient;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    for (const name of ['kube', 'node', 'images', 'objects', 'secrets'])
      mkdirSync(join(data, name), { mode: 0o700 });
    program = new Program('embedded', {
      AGENTPLANE_DATA: data,
      AGENTPLANE_INSTALLATION: process.cwd(),
      AGENTPLANE_POD_USERS: 'none',
      AGENTPLANE_KUBE_DATABASE_URI: uri,
      ...clock?.environment,
    });
    const kubeconfigPath = join(data, 'kubeconfig');
    await waitFor(() => existsSync(kubeconfigPath));
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    await waitFor(() => client.find(SERVICE_ACCOUNTS, { namespace: NAMESPACE, name: 'default' }));
  });
  afterAll(async () => {
    await client.close();
    await program.end('SIGTERM');
  });

  const running = (pod: Pod) =>
    waitFor(
      async () => {
        const found = await client.get(PODS, keyOf(pod));
        return found.status?.phase === 'Running' && found;
      },
      { what: `${pod.metadata.name} to run` },
    );
  const start = async (name: string) =>
    running(
      await client.create(PODS, {
        metadata: { name, namespace: NAMESPACE },
        spec: {
          containers: [
            { name: 'main', image: `agentplane/listener:${PLATFORM_VERSION}`, command: ['sleep', '600'] },
          ],
        },
      }),
    );
  /** Whom the API server takes the pod for, by the token that lies in its folder now. */
  async function ask({ metadata }: Pod): Promise<number> {
    const kubeconfigPath = join(data, 'node', 'pods', metadata.uid ?? '', 'kubeconfig');
    const pod = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
    try {
      await pod.list(PODS, { namespace: NAMESPACE });
      return 200;
    } catch (error) {
      return (error as { code?: number }).code ?? 0;
    } finally {
      await pod.close();
    }
  }

  it.each(BOTH_WAYS)(
    'keeps pods, the node and tokens when it is set %s, and starts and ends pods',
    async (way, by) => {
      const before = await start(`before-${way}`);
      const [id] = (before.status?.containerStatuses ?? []).map(({ containerID }) => containerID);
      expect(await ask(before)).toBe(403); // known, and without rights
      set(by);
      const after = await waitFor(async () => {
        const made = await client.create(NAMESPACES, { metadata: { generateName: 'probe-' } });
        return isNear(made.metadata.creationTimestamp ?? '', Date.now() + by * 1_000) && made;
      });
      expect(after.metadata.name).toMatch(/^probe-/);
      await waitFor(async () => (await ask(before)) === 403, { what: 'a token that counts' });
      expect(await ask(await start(`after-${way}`))).toBe(403);
      await new Promise((resolve) => setTimeout(resolve, 50_000)); // longer than a node may be silent
      const still = await client.get(PODS, keyOf(before));
      expect(
        still.status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]),
      ).toEqual([[id, 0]]);
      for (const { status } of (await client.list(NODES)).items)
        expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
      for (const name of [`before-${way}`, `after-${way}`])
        await client.delete(PODS, { namespace: NAMESPACE, name });
      await waitFor(async () => (await client.list(PODS, { namespace: NAMESPACE })).items.length === 0);
    },
  );

  it('ends without a complaint', () => {
    // a clock that is set forward looks like a machine that slept
    const found = program.complaints.filter(({ msg }) => !msg?.startsWith('machine was suspended'));
    expect(found).toEqual([]);
  });
});
