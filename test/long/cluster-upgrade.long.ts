import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import { parse } from 'yaml';
import { PLATFORM_VERSION } from '#lib/config';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { agentAt, deployed, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { ClusterBench, SYSTEM } from '../support/cluster-bench.js';
import { DaysProject } from '../support/days-project.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { PAGE_DATABASE, startPageDatabase } from '../support/page-database.js';
import { repository } from '../support/platform.js';
import { canBeNode } from '../support/real-cluster.js';
import { findReleased, ReleasedVersion } from '../support/released-version.js';
import type { Rest } from '../support/rest.js';
import type { Failure, LoadReport, SteadyLoad } from '../support/steady-load.js';

const RELEASED = process.env.UPGRADE_FROM ?? '0.2.0';

const home = findRealKubernetes() ?? '';
const commit = findReleased(RELEASED);
const isPossible = home !== '' && canBeNode(home) && commit !== undefined;
if (!isPossible) leaveOut(`a real node (install.sh --helm --node, as root), or the history with ${RELEASED}`);

const PROGRAMS = ['api', 'controller', 'listener', 'export-worker', 'setup'];
/** Tags of both, since two versions of one number have the same. */
const [FORMER, PRESENT] = ['former', 'present'];
const MY_AGENT = 'my-agent';
/**
 * Versions whose agent server ends kept connections without a word when it stops, so that a request which is on its way
 * then is lost, and a stream that began in that moment ends after its first event, which names the run. Later ones end
 * each connection with an answer.
 */
const CUTS_CONNECTIONS: ReadonlySet<string> = new Set(['0.2.0']);
const CUT = /fetch failed|terminated|^Error: \{"run_id":"[^"]+","attempt":\d+\}$/;
/** Of callers, those that call the agent. */
const CALLS_OF_AGENT: ReadonlySet<string> = new Set(['wait', 'stream', 'enqueue']);
/** The longest call: its connection may be cut at its last request. */
const CALL_MS = 5_000;
/** A deployment that is asleep while everything else is replaced. */
const SLEEPER = 'sleeper';

/** From a version that was released to this one and back, on a real node, while callers ask. */
(isPossible ? describe : describe.skip)(`an upgrade of a cluster from ${RELEASED}`, () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let release: ReleasedVersion;
  let rest: Rest;
  let namespace: string;
  let days: DaysProject;
  let load: SteadyLoad | undefined;
  let threadId: string;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    release = new ReleasedVersion(RELEASED, commit ?? '', folder);
    tagAll(PLATFORM_VERSION, PRESENT);
    bench.cluster.load(release.buildImages(home));
    tagAll(RELEASED, FORMER);
    await startPageDatabase(bench);
  });

  afterAll(async () => {
    await load?.stop();
    await bench?.down();
  });

  function tagAll(version: string, tag: string): void {
    for (const name of PROGRAMS)
      bench.cluster.tag(`localhost/agentplane/${name}:${version}`, `localhost/agentplane/${name}:${tag}`);
    bench.cluster.tag('localhost/sample-agent:1', `localhost/sample-agent:${tag}`);
  }

  async function idOf(name: string): Promise<string> {
    const { body } = await rest.get<{ resources: Deployment[] }>('/v2/deployments');
    return body.resources.find((one) => one.name === name)?.id ?? '';
  }

  async function agent(name: string): Promise<Client> {
    return agentAt({ rest, reach: (url) => bench.reach(url) }, await urlOf(rest, await idOf(name)));
  }

  async function say(content: string): Promise<number> {
    const client = await agent(MY_AGENT);
    const input = { messages: [{ role: 'user', content }] };
    const { messages } = (await client.runs.wait(threadId, 'agent', { input })) as { messages: unknown[] };
    return messages.length;
  }

  const reasonOf = (name: string): Promise<string> =>
    kubectl.run([
      '-n',
      namespace,
      'get',
      'adep',
      name,
      '-o',
      'jsonpath={.status.conditions[?(@.type=="Ready")].reason}',
    ]);

  async function awaitAsleep(): Promise<void> {
    await waitFor(async () => (await reasonOf(SLEEPER)) === 'Asleep', {
      what: `${SLEEPER} to sleep`,
      timeoutMs: 120_000,
    });
  }

  /** What callers saw while this happened. */
  async function underLoad(what: string, perform: () => Promise<void>): Promise<LoadReport> {
    load = await bench.startLoad(rest, MY_AGENT);
    await systemClock.sleep(5_000);
    const began = performance.now();
    let report: LoadReport;
    try {
      await perform();
    } finally {
      report = await load.stop();
      load = undefined;
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    process.stderr.write(
      `${what}: ${seconds} s, ${JSON.stringify(report.asked)} asked, ${report.failures.length} failed, slowest ${JSON.stringify(report.slowestMs)}\n`,
    );
    if (report.failures.length > 0)
      process.stderr.write(`${await bench.complaintsOfApi()}${await bench.eventsOf(namespace)}`);
    return report;
  }

  /** Waits until no pod of the first revision is left; when they ended, by Date.now(). */
  async function awaitFormerPods(): Promise<{ readonly fromMs: number; readonly toMs: number }> {
    let fromMs: number | undefined;
    await waitFor(
      async () => {
        const selector = `agentplane.dev/revision=${MY_AGENT}-00001`;
        const text = await kubectl.run(['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'json']);
        const { items } = JSON.parse(text) as { items: { metadata: { deletionTimestamp?: string } }[] };
        if (items.every(({ metadata }) => metadata.deletionTimestamp !== undefined)) fromMs ??= Date.now();
        return items.length === 0;
      },
      { what: 'the deletion of pods of the former revision', timeoutMs: 300_000, intervalMs: 300 },
    );
    return { fromMs: fromMs ?? Date.now(), toMs: Date.now() };
  }

  /** Fails unless the only requests that failed were cut by the released agent server when it stopped, one a caller at most. */
  function expectCutAlone(
    failures: readonly Failure[],
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): void {
    const isCut = ({ what, beganAt, error }: Failure): boolean =>
      CUTS_CONNECTIONS.has(RELEASED) &&
      CALLS_OF_AGENT.has(what) &&
      CUT.test(error) &&
      Date.parse(beganAt) >= fromMs - CALL_MS &&
      Date.parse(beganAt) <= toMs;
    const cut = failures.filter(isCut);
    process.stderr.write(`cut by the pods of ${RELEASED} when they stopped: ${JSON.stringify(cut)}\n`);
    expect(failures.filter((failure) => !isCut(failure))).toEqual([]);
    expect(new Set(cut.map(({ what }) => what)).size).toBe(cut.length);
  }

  /** Pods of the agent, which changes of the platform's programs leave as they are. */
  const agentPods = (): Promise<string> =>
    kubectl.run([
      '-n',
      namespace,
      'get',
      'pods',
      '-l',
      `agentplane.dev/deployment=${MY_AGENT}`,
      '-o',
      'name',
    ]);

  async function expectPrograms(tag: string): Promise<void> {
    await waitFor(
      async () => {
        const pods = [...(await bench.podsOf('api')), ...(await bench.podsOf('controller'))];
        const listeners = await bench.podsOf('listener', namespace);
        const images = [...pods, ...listeners].map(({ spec }) => spec.containers[0]?.image ?? '');
        // those that were replaced drain for a while
        return listeners.length === 1 && images.every((image) => image.endsWith(`:${tag}`));
      },
      { what: `all programs to be of ${tag}`, timeoutMs: 180_000 },
    );
  }

  async function schemaVersion(): Promise<number> {
    const rows = await bench.query(PAGE_DATABASE, 'SELECT max(version) AS version FROM schema_migrations');
    return Number(rows[0]?.['version']);
  }

  it('installs the release, an agent with a thread, one that sleeps, and days of traces', async () => {
    const install = bench.page('## Install').replace('charts/agentplane', release.chart);
    await bench.shell.run(install, `--set image.tag=${FORMER} --set allowPrivateEndpoints=true --timeout 9m`);
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
    await bench.shell.run(bench.page('## First agent', 2));
    await bench.shell.run(bench.page('## Exports').split('\n').slice(0, 3).join('\n'));
    days = await DaysProject.make(rest);
    const { status } = await rest.post('/v2/deployments', {
      name: SLEEPER,
      source: 'external_image',
      idle_seconds: 3,
      source_config: { resource_spec: { min_scale: 0 } },
      source_revision_config: { image_uri: `localhost/sample-agent:${FORMER}` },
    });
    expect(status).toBe(201);
    await awaitAsleep();
    const client = await agent(MY_AGENT);
    ({ thread_id: threadId } = await client.threads.create());
    expect(await say('what is 2 + 40?')).toBeGreaterThan(1);
    await expectPrograms(FORMER);
  });

  it('upgrades under load without a failed request, a lost run or a row that the export misses', async () => {
    const before = await schemaVersion();
    const pods = await agentPods();
    let exportId = '';
    const report = await underLoad('upgrade', async () => {
      exportId = await days.beginExport();
      await bench.shell.run(bench.page('## Upgrade'), `--set image.tag=${PRESENT} --timeout 9m`);
      await expectPrograms(PRESENT);
    });
    process.stderr.write(`schema ${before} → ${await schemaVersion()}\n`);
    expect(report.failures).toEqual([]);
    expect(await agentPods()).toBe(pods);
    await bench.expectKept(PAGE_DATABASE, report);
    expect(await days.readExport(exportId, bench.objectStore)).toEqual(days.runs);
  });

  it('has the kinds of the present chart', async () => {
    for (const kind of ['agentdeployments', 'agentrevisions', 'listeners', 'bulkexports']) {
      const own = parse(readFileSync(join(repository, `crds/agentplane.dev_${kind}.yaml`), 'utf8')) as Kind;
      const text = await kubectl.run(['get', 'crd', `${kind}.agentplane.dev`, '-o', 'json']);
      const found = JSON.parse(text) as Kind;
      expect(found.spec.versions[0]?.schema).toEqual(own.spec.versions[0]?.schema);
    }
  });

  it('wakes an agent that slept through the upgrade, and holds the request meanwhile', async () => {
    expect(await reasonOf(SLEEPER)).toBe('Asleep');
    const client = await agent(SLEEPER);
    const input = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };
    expect(JSON.stringify(await client.runs.wait(null, 'agent', { input }))).toContain('42');
    await waitFor(async () => ['Waking', 'Ready'].includes(await reasonOf(SLEEPER)), {
      what: `${SLEEPER} to be awake`,
      timeoutMs: 60_000,
    });
    await awaitAsleep();
  });

  it('goes on with the agent of the release, and with a thread in a revision of the present agent, under load', async () => {
    const said = await say('and 3 + 4?');
    const id = await idOf(MY_AGENT);
    let ended = { fromMs: Infinity, toMs: Infinity };
    const report = await underLoad('revision of the present agent', async () => {
      const changed = await rest.patch<Deployment>(`/v2/deployments/${id}`, {
        source_revision_config: { image_uri: `localhost/sample-agent:${PRESENT}` },
      });
      expect(changed.status).toBe(200);
      await deployed(rest, id, changed.body.latest_revision_id ?? '');
      ended = await awaitFormerPods();
    });
    expectCutAlone(report.failures, ended);
    await bench.expectKept(PAGE_DATABASE, report);
    expect(await say('and 5 + 6?')).toBeGreaterThan(said);
  });

  it('rolls back to the programs of the release under load, with the schema and the agents as they are', async () => {
    const schema = await schemaVersion();
    const pods = await agentPods();
    let exportId = '';
    const report = await underLoad('rollback', async () => {
      exportId = await days.beginExport();
      await bench.shell.run(bench.page('## Upgrade', 1), '--timeout 9m');
      await expectPrograms(FORMER);
    });
    expect(report.failures).toEqual([]);
    await bench.expectKept(PAGE_DATABASE, report);
    expect(await days.readExport(exportId, bench.objectStore)).toEqual(days.runs);
    expect(await schemaVersion()).toBe(schema);
    expect(await agentPods()).toBe(pods);
    expect(await say('and 7 + 8?')).toBeGreaterThan(1);
    expect(await reasonOf(SLEEPER)).toBe('Asleep');
  });

  it('upgrades once more, and everything is ready', async () => {
    const pods = await agentPods();
    const report = await underLoad('second upgrade', async () => {
      await bench.shell.run(bench.page('## Upgrade'), `--set image.tag=${PRESENT} --timeout 9m`);
      await expectPrograms(PRESENT);
    });
    expect(report.failures).toEqual([]);
    expect(await agentPods()).toBe(pods);
    await bench.expectKept(PAGE_DATABASE, report);
    for (const kind of ['adep', 'listeners', 'bxd'])
      await kubectl.run(['-n', namespace, 'wait', '--for=condition=Ready', '--all', kind, '--timeout=1m']);
    expect(await bench.podsOf('setup', SYSTEM)).toEqual([]);
  });
});

interface Kind {
  readonly spec: { readonly versions: readonly { readonly schema: object }[] };
}
