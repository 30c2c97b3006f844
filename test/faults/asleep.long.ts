import { Client } from '@langchain/langgraph-sdk';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { findKubectl, Kubectl, leaveOut } from '../support/kubectl.js';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { descendants, listProcesses, programsBelow } from '../support/process-tree.js';
import { Rest } from '../support/rest.js';

/** Longer than every lease: that of a node lasts 40 s. */
const ASLEEP_MS = 45_000;
/** Whatever judges others dead has looked at them by then. */
const JUDGED_MS = 15_000;
const binary = findKubectl();

interface Deployment {
  id: string;
  latest_revision_id: string;
  url?: string | null;
}

/** A closed lid: every process stands still for longer than every lease, and goes on. */
(binary ? describe : describe.skip)('a machine that slept', () => {
  const dataFolder = newDataFolder();
  let platform: Platform;
  let rest: Rest;
  let kubectl: Kubectl;
  let agent: Client;

  beforeAll(async () => {
    platform = await startPlatform(dataFolder);
    rest = new Rest(platform.credentials);
    kubectl = new Kubectl(binary ?? '', platform.credentials.kubeconfig);
    const { body } = await rest.post<Deployment>('/v2/deployments', {
      name: 'sleeper',
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    const url = await waitFor(
      async () => {
        const { body: now } = await rest.get<Deployment>(`/v2/deployments/${body.id}`);
        const { body: revision } = await rest.get<{ status: string }>(
          `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`,
        );
        return revision.status === 'DEPLOYED' ? (now.url ?? undefined) : undefined;
      },
      { what: 'the agent' },
    );
    agent = new Client({ apiUrl: url, apiKey: platform.credentials.apiKey });
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(dataFolder);
  });

  /** The whole tree: the starter and everything below it, and Postgres, which is nobody's child. */
  function everyProcess(): number[] {
    const root = platform.process.pid ?? 0;
    const postgres = listProcesses().filter(
      ({ command }) => command.includes(dataFolder) && /postgres/.test(command),
    );
    return [
      root,
      ...descendants(root).map(({ pid }) => pid),
      ...postgres.flatMap(({ pid }) => [pid, ...descendants(pid).map((child) => child.pid)]),
    ];
  }

  function signal(pids: readonly number[], name: NodeJS.Signals): void {
    for (const pid of pids)
      try {
        process.kill(pid, name);
      } catch {
        // a worker of Postgres that ended by itself
      }
  }

  async function podUids(): Promise<string[]> {
    const text = await kubectl.run([
      'get',
      'pods',
      '-A',
      '-o',
      'jsonpath={range .items[*]}{.metadata.uid}{" "}{.status.containerStatuses[0].restartCount}{"\\n"}{end}',
    ]);
    return text.trim().split('\n').sort();
  }

  /** When the node renewed its lease last. */
  async function renewedMs(): Promise<number> {
    const path = ['leases', '-n', 'kube-node-lease', '-o', 'jsonpath={.items[0].spec.renewTime}'];
    return Date.parse(await kubectl.run(['get', ...path]));
  }

  it('goes on where it was: nothing is started twice, nothing is restarted, no run is repeated', async () => {
    const root = platform.process.pid ?? 0;
    const before = {
      pods: await podUids(),
      agents: programsBelow(root, 'agent-server').map(({ pid }) => pid),
    };
    const thread = await agent.threads.create();
    const run = await agent.runs.create(thread.thread_id, 'agent', {
      input: { messages: [{ role: 'user', content: 'before the sleep' }] },
    });
    const pids = everyProcess();
    signal(pids, 'SIGSTOP');
    await systemClock.sleep(ASLEEP_MS); // the time itself is the fault
    signal(pids, 'SIGCONT');
    const wokeMs = Date.now();

    expect(await agent.runs.join(thread.thread_id, run.run_id)).not.toHaveProperty('__error__');
    const state = await agent.threads.getState(thread.thread_id);
    const said = (state.values as { messages: { type: string; content: string }[] }).messages;
    expect(said.filter(({ content }) => content === 'before the sleep')).toHaveLength(1);
    await agent.runs.wait(null, 'agent', { input: { messages: [{ role: 'user', content: 'awake?' }] } });

    await waitFor(async () => (await renewedMs()) > wokeMs + JUDGED_MS, {
      what: 'the node to renew its lease',
    });
    expect(await podUids()).toEqual(before.pods);
    expect(programsBelow(root, 'agent-server').map(({ pid }) => pid)).toEqual(before.agents);
    expect(await kubectl.run(['get', 'nodes'])).toMatch(/ Ready /);
    expect((await fetch(`${platform.credentials.restUrl}/ok`)).status).toBe(200);
  });
});

if (!binary) it('needs kubectl', () => leaveOut('kubectl'));
