import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { type Deployment, deployed } from '../e2e/walk-rows.js';
import { ClusterBench, SYSTEM } from '../support/cluster-bench.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { PAGE_DATABASE, startPageDatabase } from '../support/page-database.js';
import { canMeasure } from '../support/real-cluster.js';
import type { Rest } from '../support/rest.js';
import type { SteadyLoad } from '../support/steady-load.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canMeasure(home);
if (!isPossible) leaveOut('a real node with metrics (install.sh --helm --node --metrics, as root)');

const PATIENT = { timeoutMs: 300_000, intervalMs: 500 };
/** Each has five callers, of which three call the agent. */
const HEAVY_LOADS = 4;
/** Between the requests of one who only reads while pods end: runs would keep them. */
const READ_PAUSE_MS = 200;
/** Its pods use more under the heavy loads than two may; one may use a core. */
const RESOURCES = { min_scale: 1, max_scale: 3, cpu: 0.1, cpu_limit: 1 };

const OUT_BY_CPU = /New size: 3; reason: cpu resource utilization .* above target/;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

interface Autoscaler {
  readonly status?: {
    readonly desiredReplicas?: number;
    readonly currentReplicas?: number;
    readonly conditions?: readonly Condition[];
    readonly currentMetrics?: readonly { readonly resource?: { readonly name: string } }[];
  };
}

/** What pods use, by the kubelet, metrics-server and the autoscaler of Kubernetes, and what comes of it. */
(isPossible ? describe : describe.skip)('the number of pods on a real node', () => {
  const folder = temporaryFolder();
  const loads = new Set<SteadyLoad>();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let rest: Rest;
  let namespace: string;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    bench.cluster.measure();
    await startPageDatabase(bench);
    const autoscaling = '--set api.autoscaling.enabled=true --set api.autoscaling.maxReplicas=3';
    const values = `${autoscaling} --set api.autoscaling.targetCPUUtilization=20 --timeout 9m`;
    await bench.shell.run(bench.page('## Install'), values);
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
  });

  afterAll(async () => {
    await Promise.all([...loads].map((load) => load.stop()));
    await bench?.down();
  });

  async function deploy(name: string): Promise<void> {
    const { status, body } = await rest.post<Deployment>('/v2/deployments', {
      name,
      source: 'external_image',
      source_config: { resource_spec: RESOURCES },
      source_revision_config: { image_uri: 'localhost/sample-agent:1' },
    });
    expect([status, body]).toEqual([201, expect.anything()]);
    await deployed(rest, body.id, body.latest_revision_id ?? '');
    await bench.awaitService(`http://${name}.${namespace}.svc`);
  }

  const read = async (place: string, kind: string, name: string, path: string): Promise<string> =>
    kubectl.run(['-n', place, 'get', kind, name, '-o', `jsonpath={${path}}`]);

  async function awaitPods(place: string, workload: string, count: number): Promise<void> {
    const began = performance.now();
    await waitFor(
      async () => {
        const found = await read(place, 'deployment', workload, '.spec.replicas} {.status.readyReplicas');
        return found === `${count} ${count}`;
      },
      { ...PATIENT, timeoutMs: 600_000, what: `${workload} to have ${count} pods` },
    );
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    process.stderr.write(`${workload}: ${count} pods after ${seconds} s\n`);
  }

  async function autoscalerOf(place: string, name: string): Promise<NonNullable<Autoscaler['status']>> {
    const found = JSON.parse(
      await kubectl.run(['-n', place, 'get', 'hpa', name, '-o', 'json']),
    ) as Autoscaler;
    return found.status ?? {};
  }

  /** An autoscaler of a user has the number once it has conditions. */
  async function awaitMetrics(place: string, name: string): Promise<void> {
    await waitFor(
      async () => {
        const { conditions = [], currentMetrics = [] } = await autoscalerOf(place, name);
        const active = conditions.find(({ type }) => type === 'ScalingActive');
        return active?.status === 'True' && currentMetrics.some(({ resource }) => resource?.name === 'cpu');
      },
      { ...PATIENT, what: `the autoscaler ${name} to have metrics` },
    );
  }

  /** What an autoscaler says of every number that it chose. */
  async function rescalesOf(place: string, name: string): Promise<string> {
    const selector = `involvedObject.name=${name},reason=SuccessfulRescale`;
    const events = ['get', 'events', '--field-selector', selector, '-o', 'jsonpath={.items[*].message}'];
    return kubectl.run(['-n', place, ...events]);
  }

  /** Performs something while callers ask; fails unless every request was answered, and everything promised is kept. */
  async function underLoad(
    agent: string,
    pausesMs: readonly number[],
    perform: () => Promise<void>,
  ): Promise<void> {
    const started = await Promise.all(pausesMs.map((pauseMs) => bench.startLoad(rest, agent, pauseMs)));
    for (const load of started) loads.add(load);
    try {
      await perform();
    } finally {
      const reports = await Promise.all(started.map((load) => load.stop()));
      for (const load of started) loads.delete(load);
      const asked = reports
        .flatMap((report) => Object.values(report.asked))
        .reduce((sum, one) => sum + one, 0);
      const failures = reports.flatMap((report) => report.failures);
      process.stderr.write(`${agent}: ${asked} asked, ${failures.length} failed\n`);
      expect(failures).toEqual([]);
      for (const report of reports) await bench.expectKept(PAGE_DATABASE, report);
    }
  }

  /** Performs something while somebody reads from an agent; fails unless every request was answered. */
  async function whileRead(agent: string, perform: () => Promise<void>): Promise<void> {
    const client = await bench.agent(rest, agent);
    const failures: string[] = [];
    let asked = 0;
    let isOver = false;
    const reading = (async (): Promise<void> => {
      for (; !isOver; await systemClock.sleep(READ_PAUSE_MS)) {
        asked++;
        await client.assistants.search().catch((error: unknown) => failures.push(String(error)));
      }
    })();
    try {
      await perform();
    } finally {
      isOver = true;
      await reading;
      process.stderr.write(`${agent}: ${asked} read, ${failures.length} failed\n`);
    }
    expect(failures).toEqual([]);
  }

  /** From one pod to three under heavy loads, and back while somebody reads. */
  async function scaleOutAndBack(agent: string, whileOut: () => Promise<void>): Promise<void> {
    const workload = `${agent}-00001`;
    await awaitPods(namespace, workload, 1);
    await whileRead(agent, async () => {
      await underLoad(
        agent,
        Array.from({ length: HEAVY_LOADS }, () => 100),
        async () => {
          await awaitPods(namespace, workload, 3);
          await whileOut();
        },
      );
      await awaitPods(namespace, workload, 1);
      const pods = ['get', 'pods', '-l', `agentplane.dev/revision=${workload}`, '-o', 'name'];
      await waitFor(
        async () => (await kubectl.run(['-n', namespace, ...pods])).trim().split('\n').length === 1,
        {
          ...PATIENT,
          what: 'the deletion of pods that end',
        },
      );
    });
  }

  async function expectServing(agent: string, pods: number): Promise<void> {
    expect(await read(namespace, 'adep', agent, '.status.conditions[?(@.type=="Ready")].status')).toBe(
      'True',
    );
    const counts = '.status.replicas} {.status.readyReplicas';
    await waitFor(
      async () => (await read(namespace, 'arev', `${agent}-00001`, counts)) === `${pods} ${pods}`,
      { ...PATIENT, what: `the revision of ${agent} to report ${pods} pods` },
    );
  }

  it('shows what the pods use', async () => {
    await deploy('followed');
    const top = ['-n', namespace, 'top', 'pod', '--no-headers'];
    const used = await waitFor(
      async () => {
        const text = await kubectl.run(top);
        return /^followed-00001-\S+ +\d+m +\d+Mi/m.test(text) && text;
      },
      { ...PATIENT, what: 'the metrics of the pods' },
    );
    process.stderr.write(used);
  });

  it('follows the CPU of an agent between min_scale and max_scale, and back, without a failed request', async () => {
    await scaleOutAndBack('followed', () => expectServing('followed', 3));
    await expectServing('followed', 1);
  });

  it('follows the CPU of the api by the HorizontalPodAutoscaler of the chart', async () => {
    await awaitMetrics(SYSTEM, 'agentplane-api');
    await underLoad('followed', [100, 100], () => awaitPods(SYSTEM, 'agentplane-api', 3));
    expect(await rescalesOf(SYSTEM, 'agentplane-api')).toMatch(OUT_BY_CPU);
  });

  it('obeys a HorizontalPodAutoscaler of the user, out and back, without a failed request', async () => {
    await deploy('owned');
    const autoscaler = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'owned' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'owned-00001' },
        minReplicas: 1,
        maxReplicas: 3,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
          },
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 30 } },
      },
    };
    await kubectl.run(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(autoscaler) });
    await awaitMetrics(namespace, 'owned');
    await scaleOutAndBack('owned', async () => {
      const { desiredReplicas, conditions = [] } = await autoscalerOf(namespace, 'owned');
      expect(desiredReplicas).toBe(3);
      expect(conditions.find(({ type }) => type === 'ScalingActive')).toMatchObject({
        status: 'True',
        reason: 'ValidMetricFound',
      });
      await expectServing('owned', 3);
    });
    await expectServing('owned', 1);
    const messages = await rescalesOf(namespace, 'owned');
    process.stderr.write(`${messages}\n`);
    expect(messages).toMatch(OUT_BY_CPU);
    expect(messages).toMatch(/New size: 1; reason: All metrics below target/);
  });

  it('goes back to the fewest pods of the api', async () => {
    await awaitPods(SYSTEM, 'agentplane-api', 2);
    // it looks every 15 s
    await waitFor(async () => (await autoscalerOf(SYSTEM, 'agentplane-api')).currentReplicas === 2, {
      ...PATIENT,
      what: 'the autoscaler of the api to see two pods',
    });
  });
});
