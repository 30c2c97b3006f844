import { execFile } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PLATFORM_VERSION } from '#lib/config';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { walkRows } from '../e2e/walk-rows.js';
import { ClusterBench, type Database, RESTRICTED, SYSTEM } from '../support/cluster-bench.js';
import { podMegabytes, requestsPerSecond } from '../support/cluster-cost.js';
import { DaysProject } from '../support/days-project.js';
import { hostVolume } from '../support/host-volume.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { packNextChart } from '../support/next-chart.js';
import { POSTGRES_USER } from '../support/own-postgres.js';
import { startPageDatabase } from '../support/page-database.js';
import type { PageShell } from '../support/page-commands.js';
import { repository } from '../support/platform.js';
import { canBeNode } from '../support/real-cluster.js';
import type { Rest } from '../support/rest.js';
import type { LoadReport, SteadyLoad } from '../support/steady-load.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const TRIAL: Database = {
  secret: 'agentplane-trial-postgres',
  service: 'agentplane-trial-postgres',
  namespace: SYSTEM,
};
const IMAGES = ['api', 'controller', 'listener', 'export-worker', 'setup'];
/** What the page leaves out: images that no registry has, a store with a private address. */
const HERE = `--set trial.postgres.image=localhost/trial-postgres:1 --set allowPrivateEndpoints=true --set agents.runAsNonRoot=true --timeout 9m`;

/** docs/cluster.md on a real node: kubelet, containerd, kube-proxy and CoreDNS, with images of the Containerfile. */
(isPossible ? describe : describe.skip)('docs/cluster.md on a real node', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let shell: PageShell;
  let rest: Rest;
  let load: SteadyLoad | undefined;
  /** What the API server answers without the platform. */
  let othersPerSecond = 0;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl, shell } = bench);
    for (const name of IMAGES)
      bench.cluster.tag(
        `localhost/agentplane/${name}:${PLATFORM_VERSION}`,
        `localhost/agentplane/${name}:next`,
      );
    const data = join(folder, 'postgres');
    mkdirSync(data);
    chownSync(data, POSTGRES_USER, POSTGRES_USER);
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(hostVolume('trial', '8Gi', data)) });
    await systemClock.sleep(10_000); // its own start is over
    othersPerSecond = await requestsPerSecond(kubectl, 30);
  });

  afterAll(async () => {
    await load?.stop();
    await bench?.down();
  });

  /** From now on what names no namespace is in that of the first workspace. */
  async function enterWorkspace(): Promise<string> {
    const namespace = await bench.workspaceNamespace();
    await kubectl.run(['config', 'set-context', '--current', `--namespace=${namespace}`]);
    return namespace;
  }

  it('installs and answers a first request and a first agent within 90 s', async () => {
    const [createNamespace = '', ...install] = bench.page('### To try it first').split('\n');
    await shell.run(createNamespace);
    await kubectl.run(['label', 'namespace', SYSTEM, ...RESTRICTED]);
    const began = performance.now();
    expect(await shell.run(install.join('\n'), HERE)).toContain('Deploy a first agent');
    rest = await bench.restWithFirstKey();
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const answeredMs = performance.now() - began;
    await kubectl.run(['label', 'namespace', await enterWorkspace(), ...RESTRICTED]);
    const agentMs = performance.now();
    await shell.run(bench.page('## First agent', 2));
    const agentReadyMs = performance.now() - agentMs;
    process.stderr.write(
      `install to the first answer ${(answeredMs / 1000).toFixed(1)} s; first agent ready ${(agentReadyMs / 1000).toFixed(1)} s after it was applied\n`,
    );
    expect(answeredMs + agentReadyMs).toBeLessThan(90_000);
  });

  it('passes the test of the release', async () => {
    expect(await shell.run(bench.page('## Install', 1))).toMatch(/Phase: +Succeeded/);
  });

  it('answers through a forwarded port as the page shows', async () => {
    expect(await shell.run(bench.page('## First agent', 3))).toContain('42');
  });

  it('exports to a store of one’s own as the page shows', async () => {
    await shell.run(bench.page('## Exports'));
    const rows = await kubectl.run(['get', 'bx', 'my-agent-last-day', '-o', 'jsonpath={.status.rows}']);
    expect(Number(rows)).toBeGreaterThan(0);
  });

  it('shows agent and export in the dashboard', async () => {
    const words = ['bin/agentplane.js', 'dashboard', '--once', '--kubeconfig', bench.cluster.kubeconfig];
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: repository });
    expect(stdout).toMatch(/my-agent/);
    expect(stdout).toMatch(/my-agent-last-day/);
  });

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
  });

  describe('the walk of one machine', () => {
    walkRows(() => ({
      rest,
      kubectl,
      objectStore: bench.objectStore,
      agent: {
        source: 'external_image',
        source_revision_config: { image_uri: 'localhost/sample-agent:1' },
      },
      reach: (url) => bench.reach(url),
      awaitService: (url) => bench.awaitService(url),
      queryTraceStore: (sql, values) => bench.query(TRIAL, sql, values),
    }));
  });

  async function startLoad(): Promise<void> {
    load = await bench.startLoad(rest, 'my-agent');
    await systemClock.sleep(3_000);
  }

  async function endLoad(): Promise<LoadReport> {
    await systemClock.sleep(8_000); // pods that were replaced have drained
    if (load === undefined) throw new Error('there is no load');
    const report = await load.stop();
    load = undefined;
    process.stderr.write(`${JSON.stringify(report.asked)} asked, ${report.failures.length} failed\n`);
    if (report.failures.length > 0) process.stderr.write(await bench.complaintsOfApi());
    return report;
  }

  it('upgrades under load without a failed request or a lost run', async () => {
    const chart = packNextChart(join(home, 'bin', 'helm'), folder);
    const postgres = await bench.podsOf('trial-postgres');
    const days = await DaysProject.make(rest);
    await startLoad();
    const created = await days.beginExport();
    const upgrade = bench.page('## Upgrade').replace('charts/agentplane', chart);
    await shell.run(upgrade, '--set image.tag=next --set podLabels.team=agents --timeout 9m');
    const report = await endLoad();
    expect(report.failures).toEqual([]);
    await bench.expectKept(TRIAL, report);
    expect(await days.readExport(created, bench.objectStore)).toEqual(days.runs);
    for (const component of ['api', 'controller'])
      for (const { spec } of await bench.podsOf(component))
        expect(spec.containers[0]?.image).toBe(`localhost/agentplane/${component}:next`);
    const namespace = await bench.workspaceNamespace();
    await waitFor(
      async () => {
        const listeners = await bench.podsOf('listener', namespace);
        return listeners.length === 1 && listeners[0]?.spec.containers[0]?.image.endsWith(':next');
      },
      { what: 'the listener of the new version', timeoutMs: 90_000 },
    );
    expect(await bench.podsOf('trial-postgres')).toEqual([
      expect.objectContaining({ metadata: expect.objectContaining({ uid: postgres[0]?.metadata.uid }) }),
    ]);
  });

  it('rolls back under load without a failed request or a lost run', async () => {
    await startLoad();
    await shell.run(bench.page('## Upgrade', 1), '--timeout 9m');
    const report = await endLoad();
    expect(report.failures).toEqual([]);
    await bench.expectKept(TRIAL, report);
    expect((await bench.podsOf('api'))[0]?.spec.containers[0]?.image).toBe(
      `localhost/agentplane/api:${PLATFORM_VERSION}`,
    );
  });

  it('loses nothing when one pod of each program is evicted under load, and the other controller leads', async () => {
    const namespace = await bench.workspaceNamespace();
    const former = await bench.leader();
    await startLoad();
    const [api] = await bench.podsOf('api');
    const [listener] = await bench.podsOf('listener', namespace);
    await bench.evict(SYSTEM, former);
    await bench.evict(SYSTEM, api?.metadata.name ?? '');
    await bench.evict(namespace, listener?.metadata.name ?? '');
    const ms = await bench.awaitOtherLeader(former);
    process.stderr.write(`another controller led after ${(ms / 1000).toFixed(1)} s\n`);
    for (const deployment of ['agentplane-api', 'agentplane-controller'])
      await kubectl.run(['-n', SYSTEM, 'rollout', 'status', `deployment/${deployment}`, '--timeout=3m']);
    await kubectl.run(['rollout', 'status', 'deployment/listener-default', '--timeout=3m']);
    const report = await endLoad();
    expect(report.failures).toEqual([]);
    await bench.expectKept(TRIAL, report);
  });

  it('leaves kinds, objects and data when it is uninstalled, and a new installation finds them', async () => {
    const before = {
      key: await bench.secret('agentplane-first-key', 'api-key'),
      runs: Number((await bench.query(TRIAL, 'SELECT count(*) AS runs FROM runs'))[0]?.['runs']),
    };
    await shell.run(bench.page('## Uninstall'), '--timeout 5m');
    expect((await kubectl.run(['-n', SYSTEM, 'get', 'deployments,statefulsets', '-o', 'name'])).trim()).toBe(
      '',
    );
    expect(await kubectl.run(['get', 'crd', '-o', 'name'])).toContain('agentdeployments.agentplane.dev');
    expect(await kubectl.run(['get', 'adep', '-o', 'name'])).toContain('my-agent');
    const [, ...install] = bench.page('### To try it first').split('\n');
    await shell.run(install.join('\n'), HERE);
    rest = await bench.restWithFirstKey();
    expect(rest.credentials.apiKey).toBe(before.key);
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    const after = Number((await bench.query(TRIAL, 'SELECT count(*) AS runs FROM runs'))[0]?.['runs']);
    expect(after).toBeGreaterThanOrEqual(before.runs);
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/my-agent', '--timeout=3m']);
    expect(await shell.run(bench.page('## First agent', 3))).toContain('42');
  });

  it('removes everything as the page shows', async () => {
    await shell.run(bench.page('## Uninstall', 1));
    expect(await kubectl.run(['get', 'crd,clusterroles,namespaces', '-o', 'name'])).not.toMatch(
      /agentplane|ws-default/,
    );
  });

  it('installs over a database of one’s own, with roles that may do no more than the page says', async () => {
    await startPageDatabase(bench);
    await shell.run(bench.page('## Install'), '--timeout 9m');
    rest = await bench.restWithFirstKey();
    expect((await rest.get('/v2/deployments')).status).toBe(200);
    await enterWorkspace();
    await shell.run(bench.page('## First agent', 2));
    expect(await shell.run(bench.page('## First agent', 3))).toContain('42');
  });
});
