import { randomUUID } from 'node:crypto';
import { loadavg, tmpdir } from 'node:os';
import { startTemporaryPostgres, type TemporaryPostgres } from '#lib/embedded-postgres';
import {
  type AgentDeployment,
  DEPLOYMENTS,
  isConditionTrue,
  RESOURCES,
  NODES as NODE_OBJECTS,
} from '#lib/resources';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { ControlPlane, NAMESPACE } from '../control-plane/control-plane.js';
import type { Program } from '../control-plane/program.js';
import { inParallel } from '../support/in-parallel.js';
import { findBuiltKubectl, findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { findKwok, Kwok } from '../support/kwok.js';
import { cpuMsOf, megabytesOf } from '../support/process-cost.js';
import { listProcesses } from '../support/process-tree.js';
import { quantile } from '../support/quantile.js';
import { RealCluster } from '../support/real-cluster.js';
import {
  addDeployment,
  addExport,
  addWorkspace,
  answeredRequests,
  type ScaleWorkspace,
} from '../support/scale-plane.js';
import { workExports } from '../support/scale-workers.js';
import { SeenObjects } from '../support/seen-objects.js';

const SIZE = {
  deployments: Number(process.env.SCALE_DEPLOYMENTS ?? 1000),
  exportRuns: Number(process.env.SCALE_EXPORT_RUNS ?? 10_000),
  workspaces: Number(process.env.SCALE_WORKSPACES ?? 200),
  /** Workspaces that have deployments: each has a listener of its own, a process. */
  listeners: Number(process.env.SCALE_LISTENERS ?? 10),
  /** Traced runs that are sent with each number of api replicas. */
  tracedRuns: Number(process.env.SCALE_TRACED_RUNS ?? 20_000),
};
const IDLE_S = Number(process.env.SCALE_IDLE_S ?? 60);
const LONG = { timeoutMs: 3_600_000, intervalMs: 500 };
const NODES = 4;

const installation = findRealKubernetes();
const kwokBinary = installation === undefined ? undefined : findKwok(installation);

/** A row of figures, as docs/scaling.md has them. */
function report(what: string, figures: Readonly<Record<string, number | string>>): void {
  const text = Object.entries(figures)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? Math.round(value * 100) / 100 : value}`)
    .join(', ');
  process.stderr.write(`| ${what} | ${text} |\n`);
}

const spread = (ms: readonly number[]) => ({
  'p50 ms': quantile(ms, 0.5),
  'p95 ms': quantile(ms, 0.95),
  'most ms': Math.max(...ms),
});

if (!installation || !kwokBinary) {
  it('needs a real Kubernetes and kwok', () =>
    leaveOut('a real Kubernetes with kwok (bash test/cluster/install.sh --kwok)'));
} else
  describe(`a platform of ${SIZE.deployments} deployments, ${SIZE.exportRuns} export runs and ${SIZE.workspaces} workspaces`, () => {
    const folder = temporaryFolder();
    const workspaces: ScaleWorkspace[] = [];
    let cluster: RealCluster;
    let kwok: Kwok;
    let kubectl: Kubectl;
    let postgres: TemporaryPostgres;
    let plane: ControlPlane;
    let listeners: readonly Program[];
    let apiUrls: readonly string[];

    beforeAll(async () => {
      cluster = RealCluster.up(installation);
      // on a disk: each deployment gets a database of its own
      postgres = await startTemporaryPostgres({}, tmpdir());
      kubectl = new Kubectl(findBuiltKubectl() ?? '', cluster.kubeconfig);
      plane = await ControlPlane.start({
        kubeconfigPath: cluster.kubeconfig,
        databaseUri: postgres.uri(),
        folder,
        isForExports: true,
        isWholeCluster: true,
        // the defaults of the program
        controller: {
          AGENTPLANE_ADDRESSES: 'cluster-dns',
          AGENTPLANE_EXPORT_CONCURRENT_RUNS: '45',
          AGENTPLANE_EXPORT_RETRY_DELAY_MS: '30000',
        },
      });
      kwok = new Kwok(kwokBinary, cluster.kubeconfig, folder);
      for (let number = 0; number < NODES; number++) await kwok.addNode(plane.client, `kwok-${number}`);
      const areReady = async () =>
        (await plane.client.list(NODE_OBJECTS)).items.every(({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
        );
      await waitFor(areReady, { what: 'the nodes' });
      apiUrls = [await plane.startApi()];
    });
    afterAll(async () => {
      const stops = {
        programs: () => plane?.stop(),
        kwok: () => kwok?.stop(),
        cluster: () => cluster?.down(),
        Postgres: () => postgres?.stop(),
      };
      const failures: unknown[] = [];
      const figures: Record<string, number> = {};
      for (const [what, stop] of Object.entries(stops)) {
        const began = performance.now();
        try {
          await stop();
        } catch (error) {
          failures.push(error); // what is left running would disturb whoever comes next, so the others are stopped all the same
        }
        figures[`${what} s`] = (performance.now() - began) / 1000;
      }
      report('the end', figures);
      expect(failures).toEqual([]);
    });

    /** What the platform asks of the API server while this happens, and which kinds are asked for most. */
    async function counting(what: string, perform: () => Promise<Record<string, number>>): Promise<void> {
      const before = await answeredRequests(kubectl);
      const began = performance.now();
      const cpu = [plane.program('controller'), plane.program('api'), ...(listeners ?? [])].map(
        ({ pid }) => [pid, cpuMsOf(pid)] as const,
      );
      const figures = await perform();
      const seconds = (performance.now() - began) / 1000;
      const after = await answeredRequests(kubectl);
      report(what, {
        seconds,
        ...figures,
        'requests of the platform a second': (after.platform - before.platform) / seconds,
        'CPU of the platform, s': cpu.reduce((sum, [pid, ms]) => sum + (cpuMsOf(pid) - ms) / 1000, 0),
      });
      const most = [...after.byKind]
        .map(([kind, count]) => [kind, (count - (before.byKind.get(kind) ?? 0)) / seconds] as const)
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, 8);
      report(`${what}: of everybody, a second`, Object.fromEntries(most));
    }

    function reportMemory(what: string): void {
      const ofListeners = listeners.map(({ pid }) => megabytesOf(pid));
      report(what, {
        'controller MB': megabytesOf(plane.program('controller').pid),
        'api MB': megabytesOf(plane.program('api').pid),
        'a listener MB': quantile(ofListeners, 0.5),
        'the largest listener MB': Math.max(...ofListeners),
        'load of the machine': loadavg()[0] ?? 0,
      });
    }

    it('makes the workspaces and their listeners', async () => {
      await counting(`${SIZE.workspaces} workspaces with a destination`, async () => {
        const numbers = Array.from({ length: SIZE.workspaces }, (_, at) => at);
        await inParallel(numbers, 8, async (number) => {
          workspaces.push(await addWorkspace(plane, number));
        });
        return {};
      });
      const started: Program[] = [];
      for (const { namespace } of workspaces.slice(0, SIZE.listeners)) {
        await plane.client.create(RESOURCES.Listener, {
          metadata: { namespace, name: 'default' },
          spec: { computeType: 'cluster', computeId: 'here' },
        });
        await plane.startListener(
          { namespace, readinessMs: 600_000 },
          { AGENTPLANE_HEARTBEAT_MS: '10000', AGENTPLANE_ADDRESSES: 'cluster-dns' },
        );
        started.push(plane.program('listener'));
      }
      listeners = started;
      reportMemory('memory with workspaces alone');
    });

    it('gets every deployment ready', async () => {
      const seen = await SeenObjects.from(plane.client, RESOURCES.AgentDeployment);
      const revisions = await SeenObjects.from(plane.client, RESOURCES.AgentRevision);
      const workloads = await SeenObjects.from(plane.client, DEPLOYMENTS);
      const readyMs = new Map<string, number>();
      const appliedMs = new Map<string, number>();
      const isReady = ({ status }: AgentDeployment) => isConditionTrue(status?.conditions, 'Ready');
      const deploy = async (name: string, namespace: string) => {
        appliedMs.set(`${namespace}/${name}`, performance.now());
        await addDeployment(plane.client, namespace, name);
      };
      const until = (count: number) =>
        waitFor(
          () => {
            for (const [key, object] of seen.newest)
              if (isReady(object) && !readyMs.has(key)) readyMs.set(key, performance.now());
            return readyMs.size >= count;
          },
          { ...LONG, intervalMs: 20, what: `${count} deployments to be ready` },
        );
      const since = (of: ReadonlyMap<string, number>, keys: Iterable<string>) =>
        [...keys].flatMap((key) => {
          const [from, to] = [appliedMs.get(key), of.get(key)];
          return from === undefined || to === undefined ? [] : [to - from];
        });
      /** The first object of a deployment: its name begins with that of the deployment. */
      const firstOf = (all: ReadonlyMap<string, number>) => {
        const first = new Map<string, number>();
        for (const [key, ms] of all) {
          const owner = /^(.*\/d\d+)(?:-|$)/.exec(key)?.[1];
          if (owner !== undefined && !first.has(owner)) first.set(owner, ms);
        }
        return first;
      };
      const latencies = (what: string, keys: readonly string[]) => {
        report(`${what}: apply → revision`, spread(since(firstOf(revisions.firstMs), keys)));
        report(`${what}: apply → Deployment`, spread(since(firstOf(workloads.firstMs), keys)));
        report(`${what}: apply → Ready`, spread(since(readyMs, keys)));
      };
      const few = 20;
      const wanted = Array.from({ length: SIZE.deployments }, (_, at) => ({
        name: `d${at}`,
        namespace: workspaces[at % SIZE.listeners]?.namespace ?? NAMESPACE,
      }));
      const oneByOne = async (what: string, items: typeof wanted) => {
        for (const { name, namespace } of items) {
          await deploy(name, namespace);
          await until(appliedMs.size);
        }
        latencies(
          what,
          items.map(({ name, namespace }) => `${namespace}/${name}`),
        );
      };
      await oneByOne('the first 20, one by one', wanted.slice(0, few));
      await counting(`${SIZE.deployments - 2 * few} deployments at once`, async () => {
        await inParallel(wanted.slice(few, -few), 16, ({ name, namespace }) => deploy(name, namespace));
        await until(SIZE.deployments - few);
        return {};
      });
      latencies(
        'at once',
        wanted.slice(few, -few).map(({ name, namespace }) => `${namespace}/${name}`),
      );
      await oneByOne('the last 20, one by one', wanted.slice(-few));
      for (const one of [seen, revisions, workloads]) one.stop();
      expect(readyMs.size).toBe(SIZE.deployments);
      reportMemory(`memory with ${SIZE.deployments} deployments`);
    });

    it('completes every export run', async () => {
      const days = SIZE.exportRuns / SIZE.workspaces;
      await counting(`${SIZE.exportRuns} export runs`, () =>
        workExports(plane, SIZE.exportRuns, SIZE.workspaces, () =>
          inParallel(workspaces, 8, (workspace) => addExport(plane.client, workspace, days)),
        ),
      );
      reportMemory(`memory with ${SIZE.exportRuns} ended export runs`);
    });

    it('asks the API server for little while nothing changes', async () => {
      await systemClock.sleep(15_000);
      await counting('nothing to do', async () => {
        await systemClock.sleep(IDLE_S * 1000);
        return {};
      });
    });

    it('lists by REST what a workspace has', async () => {
      const { tenantId = '' } = workspaces[0] ?? {};
      const { key } = await plane.traces.apiKeys.mint(tenantId, { name: 'test', scope: 'workspace' });
      const paths = ['/v2/deployments?limit=100', '/api/v1/bulk-exports?limit=100', '/sessions?limit=100'];
      for (const path of paths) {
        const ms: number[] = [];
        for (let round = 0; round < 50; round++) {
          const began = performance.now();
          const answer = await fetch(`${apiUrls[0]}${path}`, { headers: { 'x-api-key': key } });
          await answer.text();
          expect([path, answer.status]).toEqual([path, 200]);
          ms.push(performance.now() - began);
        }
        report(`GET ${path}`, spread(ms));
      }
    });

    it('ingests each run once with one api and with three', async () => {
      const { tenantId = '' } = workspaces[0] ?? {};
      const { key } = await plane.traces.apiKeys.mint(tenantId, { name: 'send', scope: 'workspace' });
      const postmaster = listProcesses().find(({ command }) => command.includes(`port=${postgres.port}`));
      const programs = [plane.program('api')];
      for (const replicas of [1, 3]) {
        while (programs.length < replicas) {
          apiUrls = [...apiUrls, await plane.startApi({ AGENTPLANE_IDENTITY: `api-${programs.length}` })];
          programs.push(plane.program('api'));
        }
        const project = `traces-${replicas}`;
        const cpu = () => programs.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
        const before = [cpu(), cpuMsOf(postmaster?.pid ?? 0)] as const;
        const began = performance.now();
        const batches = Array.from({ length: Math.ceil(SIZE.tracedRuns / 100) }, (_, at) => at);
        await inParallel(batches, 6, async (at) => {
          const body = JSON.stringify({ post: Array.from({ length: 100 }, () => run(project)) });
          // each batch is sent to two replicas, as a client does that heard no answer
          for (const url of [apiUrls[at % replicas], apiUrls[(at + 1) % replicas]]) {
            const headers = { 'x-api-key': key, 'content-type': 'application/json' };
            const answer = await fetch(`${url}/runs/batch`, { method: 'POST', headers, body });
            expect(answer.status).toBe(202);
          }
        });
        const seconds = (performance.now() - began) / 1000;
        const sent = 2 * SIZE.tracedRuns;
        report(`${sent} runs in batches of 100, half of them again, ${replicas} api`, {
          'runs a second': sent / seconds,
          'api ms a run': (cpu() - before[0]) / sent,
          'Postgres ms a run': (cpuMsOf(postmaster?.pid ?? 0) - before[1]) / sent,
        });
        await waitFor(() => countRuns(apiUrls.at(-1) ?? '', key, project, SIZE.tracedRuns), {
          ...LONG,
          what: `${SIZE.tracedRuns} runs in the statistics`,
        });
      }
    });

    /** @throws Error with the count when there are more than were sent */
    async function countRuns(url: string, key: string, name: string, wanted: number): Promise<boolean> {
      const answer = await fetch(`${url}/sessions?name=${name}&include_stats=true`, {
        headers: { 'x-api-key': key },
      });
      const [{ run_count = 0 } = {}] = (await answer.json()) as { run_count?: number }[];
      expect(run_count).toBeLessThanOrEqual(wanted);
      return run_count === wanted;
    }
  });

function run(project: string) {
  const id = randomUUID();
  const time = new Date().toISOString();
  const dotted_order = `${time.replace(/[-:.]/g, '').replace('Z', '000Z')}${id}`;
  return {
    id,
    trace_id: id,
    dotted_order,
    name: 'load',
    run_type: 'chain',
    session_name: project,
    start_time: time,
    end_time: time,
    inputs: { text: 'x'.repeat(1000) },
    outputs: { text: 'y'.repeat(1000) },
  };
}
