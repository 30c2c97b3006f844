import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { deployed, type Deployment } from '../e2e/walk-rows.js';
import { ClusterBench, type Pod, SYSTEM } from '../support/cluster-bench.js';
import { DaysProject } from '../support/days-project.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { type Outage, suffer } from '../support/outage.js';
import { PAGE_DATABASE } from '../support/page-database.js';
import { canBeNode } from '../support/real-cluster.js';
import { signalPod } from '../support/pod-processes.js';
import { type Loss, ReplicatedPostgres } from '../support/replicated-postgres.js';
import type { Rest } from '../support/rest.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

/** A store with a private address. */
const HERE = '--set allowPrivateEndpoints=true --timeout 9m';
/** How long somebody takes to see that a primary is lost. */
const NOTICED_MS = 10_000;
/** The longest that a request waits until its program finds another primary. */
const FOUND_MS = 60_000;
/** The longest from the boot of the node until callers are served again. */
const BOOTED_MS = 150_000;

/** What docs/cluster.md says of outages, on a real node: two of everything, and one of it is lost while callers ask. */
(isPossible ? describe : describe.skip)('outages on a real node', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let postgres: ReplicatedPostgres;
  let rest: Rest;
  let namespace: string;
  let days: DaysProject;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    const data = join(folder, 'databases');
    mkdirSync(data);
    postgres = new ReplicatedPostgres(bench, data);
    await postgres.start();
    const admin = await postgres.connect();
    for (const statement of bench.page('## Database').split(/(?<=;)\n/))
      await admin.query(statement.replaceAll("'PASSWORD'", "'own'"));
    await admin.end();
    await postgres.addStandby();
    await bench.shell.run(bench.page('## Database', 1));
    await bench.shell.run(bench.page('## Install'), HERE);
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
    await bench.shell.run(bench.page('## First agent', 2));
    await bench.shell.run(bench.page('## Exports').split('\n').slice(0, 3).join('\n'));
    days = await DaysProject.make(rest);
  });

  afterAll(() => bench?.down());

  function row(name: string, strike: () => Promise<void>): Promise<Outage> {
    return suffer({ bench, rest, database: PAGE_DATABASE, days, namespace }, name, strike);
  }

  function leadingPod(): Promise<Pod> {
    return waitFor(
      async () => {
        const name = await bench.leader();
        return (await bench.podsOf('controller')).find(({ metadata }) => metadata.name === name);
      },
      { what: 'a controller that leads' },
    );
  }

  /** A new revision, until it serves. */
  async function rollOut(value: string): Promise<void> {
    const { body } = await rest.get<{ resources: Deployment[] }>('/v2/deployments');
    const id = body.resources.find(({ name }) => name === 'my-agent')?.id ?? '';
    const changed = await rest.patch<Deployment>(`/v2/deployments/${id}`, {
      secrets: [{ name: 'GREETING', value }],
    });
    expect(changed.status).toBe(200);
    await deployed(rest, id, changed.body.latest_revision_id ?? '');
  }

  it('hands over and rolls out when the controller that leads is deleted', async () => {
    const { failures } = await row('leading controller deleted', async () => {
      const former = (await leadingPod()).metadata.name;
      await kubectl.run(['-n', SYSTEM, 'delete', 'pod', former, '--wait=false']);
      await bench.awaitOtherLeader(former);
      await rollOut('deleted');
    });
    expect(failures).toEqual([]);
  });

  it('hands over and rolls out while the controller that leads stands still', async () => {
    const { failures } = await row('leading controller stands still', async () => {
      const former = await leadingPod();
      signalPod(former, 'SIGSTOP');
      await bench.awaitOtherLeader(former.metadata.name);
      await rollOut('stopped');
      signalPod(former, 'SIGCONT');
    });
    expect(failures).toEqual([]);
  });

  it('refuses the second of two evictions while the node is cordoned, and is whole after it', async () => {
    const { late } = await row('node cordoned for 30 s, a pod of each program evicted', async () => {
      await kubectl.run(['cordon', 'node-1']);
      const [api, second] = await bench.podsOf('api');
      await bench.evict(SYSTEM, api?.metadata.name ?? '');
      await bench.evict(SYSTEM, (await leadingPod()).metadata.name);
      await expect(bench.evict(SYSTEM, second?.metadata.name ?? '')).rejects.toThrow(/disruption budget/);
      const words = ['-n', namespace, 'get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}'];
      for (const name of (await kubectl.run(words)).split(' '))
        if (!name.includes('export')) await bench.evict(namespace, name);
      await systemClock.sleep(30_000); // somebody works on the node
      await kubectl.run(['uncordon', 'node-1']);
    });
    expect(late).toEqual([]);
  });

  it('refuses nothing while the kubelet is restarted', async () => {
    const { failures } = await row('kubelet restarted', () => bench.cluster.restart('kubelet'));
    expect(failures).toEqual([]);
  });

  it('refuses nothing to callers of agents while the API server is restarted', async () => {
    const { failures } = await row('API server restarted', () => bench.cluster.restart('apiserver'));
    expect(failures.filter(({ what }) => what !== 'read')).toEqual([]);
  });

  it('refuses nothing while the API server stands still for some seconds again and again', async () => {
    const { failures } = await row('API server stands still for 4 s, ten times', async () => {
      for (let at = 0; at < 10; at++) {
        bench.cluster.signal('apiserver', 'SIGSTOP');
        await systemClock.sleep(4_000); // the time itself is the fault
        bench.cluster.signal('apiserver', 'SIGCONT');
        await systemClock.sleep(1_000);
      }
    });
    expect(failures).toEqual([]);
  });

  it('refuses nothing while the object store is unavailable, and exports afterwards', async () => {
    const { failures } = await row('object store unavailable for 60 s', async () => {
      await bench.takeStoreAway();
      await systemClock.sleep(60_000); // the time itself is the fault
      await bench.bringStoreBack();
    });
    expect(failures).toEqual([]);
  });

  it('loses nothing while Postgres stands still for 40 s', async () => {
    const { late } = await row('Postgres stands still for 40 s', async () => {
      await postgres.signal('SIGSTOP');
      await systemClock.sleep(40_000); // the time itself is the fault
      await postgres.signal('SIGCONT');
    });
    expect(late).toEqual([]);
  });

  it.each<Loss>(['killed', 'unreachable'])(
    'loses nothing when a Postgres that is %s is failed over',
    async (loss) => {
      const { late, readyMs, slowestMs } = await row(`primary Postgres ${loss}, failed over`, async () => {
        await postgres.lose(loss);
        await systemClock.sleep(NOTICED_MS);
        await postgres.failOver();
      });
      expect(late).toEqual([]);
      expect(Math.max(readyMs, ...Object.values(slowestMs))).toBeLessThan(FOUND_MS);
      await postgres.removeLost();
      await postgres.addStandby();
    },
  );

  it('comes back whole after the node lost its power', async () => {
    const { late, readyMs } = await row('node without power for 10 s', async () => {
      await bench.cluster.halt();
      await systemClock.sleep(10_000); // the time itself is the fault
      await bench.cluster.boot();
    });
    expect(late).toEqual([]);
    expect(readyMs).toBeLessThan(BOOTED_MS);
  });
});
