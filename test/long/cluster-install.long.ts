import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { PLATFORM_VERSION } from '#lib/config';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { agentAt, urlOf, walkRows } from '../e2e/walk-rows.js';
import { download, duckdb, listKeys, storeClient } from '../support/export-reader.js';
import { findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { commandsBelow, PageShell } from '../support/page-commands.js';
import { repository } from '../support/platform.js';
import { buildImages, canBeNode, NODE_ADDRESS, RealCluster } from '../support/real-cluster.js';
import { Rest } from '../support/rest.js';
import { podMegabytes, requestsPerSecond } from '../support/cluster-cost.js';
import { SteadyLoad, type LoadReport } from '../support/steady-load.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const PAGE = 'cluster.md';
const SYSTEM = 'agentplane-system';
const POSTGRES = 'agentplane-trial-postgres';
const BUCKET = 'exports';
const IMAGES = ['api', 'controller', 'listener', 'export-worker', 'setup'];
/** Of the user in the chart's Postgres. */
const POSTGRES_USER = 70;
/** What the page leaves out: images that no registry has, a store with a private address. */
const HERE = `--set trial.postgres.image=localhost/trial-postgres:1 --set allowPrivateEndpoints=true --set agents.runAsNonRoot=true --timeout 9m`;

const VOLUME = (path: string): object => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'trial' } },
  spec: {
    ...{ capacity: { storage: '8Gi' }, accessModes: ['ReadWriteOnce'] },
    hostPath: { path, type: 'Directory' },
  },
});
/** Every pod of the platform must be admitted by the strictest of the Pod Security Standards. */
const RESTRICTED = ['pod-security.kubernetes.io/enforce=restricted'];

/** Outside of the platform, as somebody's own is. */
const OWN_POSTGRES = {
  ...{ apiVersion: 'v1', kind: 'List' },
  items: [
    {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'postgres', labels: { app: 'postgres' } } },
      spec: {
        securityContext: { runAsUser: POSTGRES_USER, fsGroup: POSTGRES_USER },
        containers: [
          {
            ...{ name: 'postgres', image: 'localhost/trial-postgres:1', args: ['-c', 'max_connections=200'] },
            env: [
              { name: 'PGDATA', value: '/data/pgdata' },
              { name: 'POSTGRES_PASSWORD', value: 'own' },
            ],
            readinessProbe: { exec: { command: ['pg_isready', '-U', 'postgres'] }, periodSeconds: 2 },
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'run', mountPath: '/var/run/postgresql' },
            ],
          },
        ],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'run', emptyDir: {} },
        ],
      },
    },
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'postgres' } },
      spec: { selector: { app: 'postgres' }, ports: [{ port: 5432 }] },
    },
  ],
} as const;

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
}

/** docs/cluster.md on a real node: kubelet, containerd, kube-proxy and CoreDNS, with images of the Containerfile. */
(isPossible ? describe : describe.skip)('docs/cluster.md on a real node', () => {
  const folder = temporaryFolder();
  let cluster: RealCluster;
  let store: EmbeddedObjectStore;
  let kubectl: Kubectl;
  let shell: PageShell;
  let rest: Rest;
  let load: SteadyLoad | undefined;
  /** What the API server answers without the platform. */
  let othersPerSecond = 0;

  beforeAll(async () => {
    const archive = buildImages();
    cluster = RealCluster.up(home, { isNode: true });
    cluster.load(archive);
    for (const name of IMAGES)
      cluster.tag(`localhost/agentplane/${name}:${PLATFORM_VERSION}`, `localhost/agentplane/${name}:next`);
    const data = join(folder, 'postgres');
    mkdirSync(data);
    chownSync(data, POSTGRES_USER, POSTGRES_USER);
    kubectl = new Kubectl(join(home, 'bin', 'kubectl'), cluster.kubeconfig);
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(VOLUME(data)) });
    await systemClock.sleep(10_000); // its own start is over
    othersPerSecond = await requestsPerSecond(kubectl, 30);
    store = await startObjectStore({
      ...{ folder: join(folder, 'objects'), host: NODE_ADDRESS, port: 0, buckets: [BUCKET] },
      ...{ accessKeyId: 'walker', secretAccessKey: 'walker-secret', log: createLogger('store', 'error') },
    });
    const destination = join(folder, 'destination.yaml');
    const filledIn = readFileSync(join(repository, 'examples/destination.yaml'), 'utf8')
      .replace('YOUR-ACCESS-KEY-ID', 'walker')
      .replace('YOUR-SECRET-ACCESS-KEY', 'walker-secret')
      .replace('my-bucket', BUCKET)
      .replace('# endpointUrl: https://store.example.com', `endpointUrl: ${store.endpoint}`);
    writeFileSync(destination, filledIn);
    const PATH = [join(home, 'bin'), process.env.PATH].join(delimiter);
    shell = new PageShell(
      { PATH, HOME: folder, KUBECONFIG: cluster.kubeconfig },
      {
        'registry.example.com/team/my-agent:1': 'localhost/sample-agent:1',
        'registry.example.com/team/': 'localhost/',
        'destination.yaml': destination,
        'postgres://agentplane:PASSWORD@HOST': 'postgres://agentplane:own@postgres.databases.svc',
        'postgres://deployments:PASSWORD@HOST': 'postgres://deployments:own@postgres.databases.svc',
      },
    );
  }, 3_600_000);

  afterAll(async () => {
    await load?.stop();
    await store?.stop();
    cluster?.down();
  }, 300_000);

  function page(heading: string, at = 0): string {
    const block = commandsBelow(PAGE, heading)[at];
    if (block === undefined) throw new Error(`${PAGE} has no block ${at} below ${heading}`);
    return block;
  }

  /** The nftables of kube-proxy serve this machine too, as they do any node. */
  function serviceUrl(name: string, namespace: string): string {
    const words = ['--kubeconfig', cluster.kubeconfig, '-n', namespace, 'get', 'svc', name, '-o'];
    const path = 'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}';
    return `http://${execFileSync(kubectl.binary, [...words, path], { encoding: 'utf8' })}`;
  }

  function reach(url: string): string {
    const [name = '', namespace = ''] = new URL(url).hostname.split('.');
    return serviceUrl(name, namespace);
  }

  async function awaitService(url: string): Promise<void> {
    const ask = (): Promise<boolean> => fetch(`${reach(url)}/ok`).then(({ ok }) => ok);
    await waitFor(() => ask().catch(() => false), { what: `the Service at ${url}`, timeoutMs: 10_000 });
  }

  async function secret(name: string, key: string): Promise<string> {
    const path = `go-template={{index .data "${key}" | base64decode}}`;
    return kubectl.run(['-n', SYSTEM, 'get', 'secret', name, '-o', path]);
  }

  async function restWithFirstKey(): Promise<Rest> {
    const tenantId = await kubectl.run(['get', 'workspace', 'default', '-o', 'jsonpath={.spec.tenantId}']);
    const apiKey = await secret('agentplane-first-key', 'api-key');
    return new Rest({ restUrl: serviceUrl('agentplane-api', SYSTEM), apiKey, tenantId });
  }

  async function queryTraceStore(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<Record<string, unknown>[]> {
    const uri = new URL(await secret(POSTGRES, 'uri'));
    uri.host = new URL(serviceUrl(POSTGRES, SYSTEM)).host;
    const client = new pg.Client({ connectionString: uri.href });
    await client.connect();
    try {
      return (await client.query(sql, [...values])).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async function podsOf(component: string, namespace = SYSTEM): Promise<readonly Pod[]> {
    const words = ['get', 'pods', '-l', `app.kubernetes.io/component=${component}`, '-o', 'json'];
    return (JSON.parse(await kubectl.run(['-n', namespace, ...words])) as { items: Pod[] }).items;
  }

  it('installs and answers a first request and a first agent within 90 s', async () => {
    const [createNamespace = '', ...install] = page('### To try it first').split('\n');
    await shell.run(createNamespace);
    await kubectl.run(['label', 'namespace', SYSTEM, ...RESTRICTED]);
    const began = performance.now();
    expect(await shell.run(install.join('\n'), HERE)).toContain('Deploy a first agent');
    rest = await restWithFirstKey();
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const answeredMs = performance.now() - began;
    const namespace = await kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.status.namespace}',
    ]);
    await kubectl.run(['label', 'namespace', namespace, ...RESTRICTED]);
    await kubectl.run(['config', 'set-context', '--current', `--namespace=${namespace}`]);
    const agentMs = performance.now();
    await shell.run(page('## First agent', 2));
    const agentReadyMs = performance.now() - agentMs;
    process.stderr.write(
      `install to the first answer ${(answeredMs / 1000).toFixed(1)} s; first agent ready ${(agentReadyMs / 1000).toFixed(1)} s after it was applied\n`,
    );
    expect(answeredMs + agentReadyMs).toBeLessThan(90_000);
  }, 900_000);

  it('passes the test of the release', async () => {
    expect(await shell.run(page('## Install', 1))).toMatch(/Phase: +Succeeded/);
  }, 120_000);

  it('answers through a forwarded port as the page shows', async () => {
    expect(await shell.run(page('## First agent', 3))).toContain('42');
  }, 120_000);

  it('exports to a store of one’s own as the page shows', async () => {
    await shell.run(page('## Exports'));
    const rows = await kubectl.run(['get', 'bx', 'my-agent-last-day', '-o', 'jsonpath={.status.rows}']);
    expect(Number(rows)).toBeGreaterThan(0);
  }, 300_000);

  it('shows agent and export in the dashboard', async () => {
    const words = ['bin/agentplane.js', 'dashboard', '--once', '--kubeconfig', cluster.kubeconfig];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: repository });
    expect(stdout).toMatch(/my-agent/);
    expect(stdout).toMatch(/my-agent-last-day/);
  }, 180_000);

  it('costs less than two requests a second and 300 MB while nothing happens', async () => {
    await systemClock.sleep(30_000); // what has just started has settled
    const perSecond = (await requestsPerSecond(kubectl, 60)) - othersPerSecond;
    const megabytes = ['api', 'controller', 'listener'].map((program) => Math.max(...podMegabytes(program)));
    const shown = megabytes.map((size) => size.toFixed(0)).join(' + ');
    process.stderr.write(
      `idle: ${perSecond.toFixed(2)} requests a second; api + controller + listener ${shown} MB\n`,
    );
    expect(perSecond).toBeLessThan(2);
    expect(megabytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300);
  }, 180_000);

  describe('the walk of one machine', () => {
    walkRows(() => ({
      ...{ rest, kubectl, reach, awaitService, queryTraceStore },
      agent: {
        source: 'external_image',
        source_revision_config: { image_uri: 'localhost/sample-agent:1' },
      },
      objectStore: {
        ...{ endpoint: store.endpoint, region: 'us-east-1', bucket: BUCKET },
        ...{ accessKeyId: 'walker', secretAccessKey: 'walker-secret' },
      },
    }));
  });

  async function startLoad(): Promise<SteadyLoad> {
    const { body } = await rest.get<{ resources: { id: string; name: string }[] }>('/v2/deployments');
    const id = body.resources.find(({ name }) => name === 'my-agent')?.id ?? '';
    load = new SteadyLoad(rest, agentAt({ rest, reach }, await urlOf(rest, id)), 'loaded');
    await systemClock.sleep(3_000);
    return load;
  }

  async function endLoad(): Promise<LoadReport> {
    await systemClock.sleep(8_000); // pods that were replaced have drained
    const report = (await load?.stop()) ?? { asked: {}, failures: ['no load'], ingested: [] };
    load = undefined;
    process.stderr.write(`${JSON.stringify(report.asked)} asked, ${report.failures.length} failed\n`);
    if (report.failures.length > 0) process.stderr.write(await complaintsOfApi());
    return report;
  }

  /** What the pods of the api that are still there logged as a warning or worse. */
  async function complaintsOfApi(): Promise<string> {
    const words = ['logs', '-l', 'app.kubernetes.io/component=api', '--tail=-1', '--prefix'];
    const lines = (await kubectl.run(['-n', SYSTEM, ...words])).split('\n');
    return `${lines.filter((line) => /"level":"(warn|error)"/.test(line)).join('\n')}\n`;
  }

  /** Rows of one project on sixty days, for an export of sixty runs, which an upgrade finds at work. */
  async function ingestDays(): Promise<{ readonly project: string; readonly ids: readonly string[] }> {
    const ids: string[] = [];
    for (let day = 0; day < 60; day++) {
      const post = Array.from({ length: 50 }, (_unused, at) => {
        const id = `00000000-0000-4000-8000-${String((day + 1) * 1000 + at).padStart(12, '0')}`;
        const date = new Date(Date.UTC(2026, 2, 1 + day)).toISOString().slice(0, 10);
        const time = `${date}T10:00:00.${String(at).padStart(6, '0')}Z`;
        ids.push(id);
        return {
          ...{ id, trace_id: id, dotted_order: `${time.replace(/[-:.]/g, '').replace('Z', '')}Z${id}` },
          ...{ name: 'day', run_type: 'chain', session_name: 'days', start_time: time, end_time: time },
          ...{ inputs: { at }, outputs: {} },
        };
      });
      expect((await rest.post('/runs/batch', { post, patch: [] })).status).toBe(202);
    }
    const { body } = await rest.get<{ id: string }[]>('/sessions?name=days');
    return { project: body[0]?.id ?? '', ids };
  }

  async function expectWholeExport(id: string, ids: readonly string[]): Promise<void> {
    await waitFor(
      async () => {
        const { body } = await rest.get<{ status: string }>(`/api/v1/bulk-exports/${id}`);
        if (['FAILED', 'TIMEDOUT', 'CANCELLED'].includes(body.status)) throw new Error(body.status);
        return body.status === 'COMPLETED';
      },
      { what: 'the export to be COMPLETED', timeoutMs: 300_000 },
    );
    const client = storeClient({
      ...{ endpoint: store.endpoint, region: 'us-east-1', bucket: BUCKET },
      ...{ accessKeyId: 'walker', secretAccessKey: 'walker-secret' },
    });
    const keys = (await listKeys(client, BUCKET, '')).filter((key) => key.includes(id));
    const rows = await duckdb(await download(client, BUCKET, keys), 'SELECT id FROM FILES ORDER BY id');
    expect(rows.map((row) => row.id)).toEqual([...ids].sort());
  }

  async function expectStored(ids: readonly string[]): Promise<void> {
    const rows = await waitFor(
      async () => {
        const found = await queryTraceStore('SELECT id FROM runs WHERE id = ANY($1)', [ids]);
        return found.length >= ids.length && found;
      },
      { what: 'acknowledged runs in the store', timeoutMs: 30_000 },
    );
    expect(rows).toHaveLength(ids.length);
  }

  /** The chart of another version, with a value that the installed one has not. */
  async function packNextChart(): Promise<string> {
    const next = join(folder, 'next');
    cpSync(join(repository, 'charts/agentplane'), next, { recursive: true });
    rmSync(join(next, 'values.schema.json'));
    appendFileSync(join(next, 'values.yaml'), '\nnewcomer: { note: here }\n');
    const note = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: newcomer }\ndata: { note: '{{ .Values.newcomer.note }}' }\n`;
    writeFileSync(join(next, 'templates', 'newcomer.yaml'), note);
    await promisify(execFile)(join(home, 'bin', 'helm'), [
      'package',
      next,
      '--version',
      '99.0.0',
      '-d',
      folder,
    ]);
    return join(folder, 'agentplane-99.0.0.tgz');
  }

  it('upgrades under load without a failed request or a lost run', async () => {
    const chart = await packNextChart();
    const postgres = await podsOf('trial-postgres');
    const { project, ids } = await ingestDays();
    const destinations = await rest.get<{ id: string }[]>('/api/v1/bulk-exports/destinations');
    await startLoad();
    const { body: created } = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
      ...{ bulk_export_destination_id: destinations.body[0]?.id, session_id: project },
      ...{ start_time: '2026-03-01T00:00:00Z', end_time: '2026-04-30T00:00:00Z' },
    });
    const upgrade = page('## Upgrade').replace('charts/agentplane', chart);
    await shell.run(upgrade, '--set image.tag=next --set podLabels.team=agents --timeout 9m');
    const { failures, ingested } = await endLoad();
    expect(failures).toEqual([]);
    await expectStored(ingested);
    await expectWholeExport(created.id, ids);
    for (const component of ['api', 'controller'])
      for (const { spec } of await podsOf(component))
        expect(spec.containers[0]?.image).toBe(`localhost/agentplane/${component}:next`);
    const namespace = await kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.status.namespace}',
    ]);
    await waitFor(
      async () => {
        const listeners = await podsOf('listener', namespace);
        return listeners.length === 1 && listeners[0]?.spec.containers[0]?.image.endsWith(':next');
      },
      { what: 'the listener of the new version', timeoutMs: 90_000 },
    );
    expect(await podsOf('trial-postgres')).toEqual([
      expect.objectContaining({ metadata: expect.objectContaining({ uid: postgres[0]?.metadata.uid }) }),
    ]);
  }, 1_200_000);

  it('rolls back under load without a failed request or a lost run', async () => {
    await startLoad();
    await shell.run(page('## Upgrade', 1), '--timeout 9m');
    const { failures, ingested } = await endLoad();
    expect(failures).toEqual([]);
    await expectStored(ingested);
    expect((await podsOf('api'))[0]?.spec.containers[0]?.image).toBe(
      `localhost/agentplane/api:${PLATFORM_VERSION}`,
    );
  }, 1_200_000);

  it('loses nothing when one pod of each program is evicted under load, and the other controller leads', async () => {
    const leader = async (): Promise<string> =>
      kubectl.run([
        '-n',
        SYSTEM,
        'get',
        'lease',
        'agentplane-controller',
        '-o',
        'jsonpath={.spec.holderIdentity}',
      ]);
    const namespace = await kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.status.namespace}',
    ]);
    const former = await leader();
    await startLoad();
    const [api] = await podsOf('api');
    const [listener] = await podsOf('listener', namespace);
    await evict(SYSTEM, former);
    await evict(SYSTEM, api?.metadata.name ?? '');
    await evict(namespace, listener?.metadata.name ?? '');
    const began = performance.now();
    await waitFor(async () => ![former, ''].includes(await leader()), {
      what: 'another leader',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
    process.stderr.write(
      `another controller led after ${((performance.now() - began) / 1000).toFixed(1)} s\n`,
    );
    for (const deployment of ['agentplane-api', 'agentplane-controller'])
      await kubectl.run(['-n', SYSTEM, 'rollout', 'status', `deployment/${deployment}`, '--timeout=3m']);
    await kubectl.run(['rollout', 'status', 'deployment/listener-default', '--timeout=3m']);
    const { failures, ingested } = await endLoad();
    expect(failures).toEqual([]);
    await expectStored(ingested);
  }, 600_000);

  /** As `kubectl drain` does: the disruption budget is asked. */
  async function evict(namespace: string, name: string): Promise<void> {
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    await kubectl.run(['create', '--raw', path, '-f', '-'], { input: JSON.stringify(eviction) });
  }

  it('leaves kinds, objects and data when it is uninstalled, and a new installation finds them', async () => {
    const before = {
      key: await secret('agentplane-first-key', 'api-key'),
      runs: Number((await queryTraceStore('SELECT count(*) AS runs FROM runs'))[0]?.['runs']),
    };
    await shell.run(page('## Uninstall'), '--timeout 5m');
    expect((await kubectl.run(['-n', SYSTEM, 'get', 'deployments,statefulsets', '-o', 'name'])).trim()).toBe(
      '',
    );
    expect(await kubectl.run(['get', 'crd', '-o', 'name'])).toContain('agentdeployments.agentplane.dev');
    expect(await kubectl.run(['get', 'adep', '-o', 'name'])).toContain('my-agent');
    const [, ...install] = page('### To try it first').split('\n');
    await shell.run(install.join('\n'), HERE);
    rest = await restWithFirstKey();
    expect(rest.credentials.apiKey).toBe(before.key);
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const after = Number((await queryTraceStore('SELECT count(*) AS runs FROM runs'))[0]?.['runs']);
    expect(after).toBeGreaterThanOrEqual(before.runs);
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/my-agent', '--timeout=3m']);
    expect(await shell.run(page('## First agent', 3))).toContain('42');
  }, 1_200_000);

  it('removes everything as the page shows', async () => {
    await shell.run(page('## Uninstall', 1));
    expect(await kubectl.run(['get', 'crd,clusterroles,namespaces', '-o', 'name'])).not.toMatch(
      /agentplane|ws-default/,
    );
  }, 600_000);

  it('installs over a database of one’s own, with roles that may do no more than the page says', async () => {
    await kubectl.run(['create', 'namespace', 'databases']);
    await kubectl.run(['-n', 'databases', 'apply', '-f', '-'], { input: JSON.stringify(OWN_POSTGRES) });
    await kubectl.run(['-n', 'databases', 'wait', '--for=condition=Ready', 'pod/postgres', '--timeout=2m']);
    const { host } = new URL(serviceUrl('postgres', 'databases'));
    // the node learns of a pod that is ready a moment later
    const admin = await waitFor(
      async () => {
        const client = new pg.Client({ connectionString: `postgres://postgres:own@${host}/postgres` });
        await client.connect();
        return client;
      },
      { what: 'the database', timeoutMs: 30_000 },
    );
    for (const statement of page('## Database').split(/(?<=;)\n/))
      await admin.query(statement.replaceAll("'PASSWORD'", "'own'"));
    await admin.end();
    await shell.run(page('## Database', 1));
    await shell.run(page('## Install'), '--timeout 9m');
    rest = await restWithFirstKey();
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const namespace = await kubectl.run([
      'get',
      'workspace',
      'default',
      '-o',
      'jsonpath={.status.namespace}',
    ]);
    await kubectl.run(['config', 'set-context', '--current', `--namespace=${namespace}`]);
    await shell.run(page('## First agent', 2));
    expect(await shell.run(page('## First agent', 3))).toContain('42');
  }, 1_200_000);
});
