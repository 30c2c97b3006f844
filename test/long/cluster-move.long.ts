import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@langchain/langgraph-sdk';
import { temporaryFolder, waitFor } from '#lib/testing';
import { agentAt, deployed, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { ClusterBench, SYSTEM } from '../support/cluster-bench.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { PageShell } from '../support/page-commands.js';
import { PAGE_DATABASE, startPageDatabase } from '../support/page-database.js';
import { type Platform, repository, startPlatform } from '../support/platform.js';
import { PortForward } from '../support/port-forward.js';
import { canBeNode } from '../support/real-cluster.js';
import { Rest } from '../support/rest.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const NAME = 'my-agent';
const NAMESPACE = 'ws-default';
const QUESTION = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };

/** What docs/cluster.md says of a machine that moves into a cluster: traces, workspaces, databases of agents. */
(isPossible ? describe : describe.skip)('a machine that moves into a cluster', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let machine: Platform | undefined;
  let shell: PageShell;
  let forward: PortForward | undefined;
  let onMachine: Rest;
  let inCluster: Rest;
  let id: string;
  let threadId: string;
  let before: object;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    shell = new PageShell(
      { PATH: process.env.PATH ?? '', HOME: folder, KUBECONFIG: bench.cluster.kubeconfig },
      {
        'npx agentplane': `cd; ${process.execPath} ${join(repository, 'bin/agentplane.js')}`,
        kubectl: kubectl.binary,
        '~/cluster ': `${bench.cluster.kubeconfig} `,
        'registry.example.com/team/': 'localhost/',
      },
    );
    await startPageDatabase(bench);
    await bench.shell.run(bench.page('## Install'), '--set workspace.create=false --timeout 9m');
    forward = await PortForward.open(kubectl, PAGE_DATABASE.namespace, PAGE_DATABASE.service, 5432);
    machine = await startPlatform(join(folder, '.agentplane'));
    onMachine = new Rest(machine.credentials);
  });

  afterAll(async () => {
    await machine?.stop();
    await forward?.close();
    await bench?.down();
  });

  /** The address in a Secret names a Service, which this machine reaches by its own port. */
  function forwarded(file: string): void {
    const path = join(folder, file);
    const uri = new URL(readFileSync(path, 'utf8'));
    expect(uri.hostname).toBe('postgres.databases.svc');
    uri.host = forward?.host ?? '';
    writeFileSync(path, uri.href);
  }

  async function agentOf(rest: Rest, reach: (url: string) => string): Promise<Client> {
    return agentAt({ rest, reach }, await urlOf(rest, id));
  }

  /** What a client sees of the thread, its runs, an item, crons and assistants. */
  async function seen({ threads, runs, store, crons, assistants }: Client): Promise<object> {
    return {
      thread: await threads.get(threadId),
      state: await threads.getState(threadId),
      history: await threads.getHistory(threadId),
      runs: await runs.list(threadId),
      item: await store.getItem(['notes'], 'one'),
      crons: await crons.search(),
      assistants: (await assistants.search()).map(({ assistant_id, name }) => ({ assistant_id, name })),
    };
  }

  const databaseUri = (): Promise<string> =>
    kubectl.run(['-n', NAMESPACE, 'get', 'secret', `${NAME}-database`, '--ignore-not-found', '-o', 'name']);

  it('has an agent with a thread, runs, an item and a cron on the machine, and suspends it', async () => {
    const { body } = await onMachine.post<Deployment>('/v2/deployments', {
      name: NAME,
      source: 'internal_image',
      source_config: {},
      source_revision_config: { image_uri: 'sample-agent' },
      secrets: [],
    });
    ({ id } = body);
    await deployed(onMachine, id, body.latest_revision_id ?? '');
    const client = await agentOf(onMachine, (url) => url);
    ({ thread_id: threadId } = await client.threads.create({ metadata: { owner: 'é' } }));
    for (let i = 0; i < 2; i++) await client.runs.wait(threadId, 'agent', { input: QUESTION });
    await client.store.putItem(['notes'], 'one', { text: 'kept' });
    await client.crons.createForThread(threadId, 'agent', { schedule: '0 9 1 1 *', input: QUESTION });
    await client.assistants.create({ graphId: 'agent', name: 'mine' });
    before = await seen(client);
    await shell.run(bench.page('## Databases of agents'));
  });

  it('copies the traces with the keys, and the workspace with its deployment', async () => {
    const [toZero, copyTraces, toTwo] = [0, 1, 2].map((at) => bench.page('## Traces of a machine', at));
    await shell.run(toZero ?? '');
    writeFileSync(join(folder, 'cluster-database'), await bench.secret(PAGE_DATABASE.secret, 'uri'), {
      mode: 0o600,
    });
    forwarded('cluster-database');
    process.stderr.write(await shell.run(copyTraces ?? ''));
    await shell.run(toTwo ?? '');
    process.stderr.write(await shell.run(bench.page('## Workspaces of a machine')));
    await kubectl.run(['-n', SYSTEM, 'rollout', 'status', 'deployment/agentplane-api', '--timeout=2m']);
    const restUrl = bench.serviceUrl('agentplane-api', SYSTEM);
    inCluster = new Rest({ ...onMachine.credentials, restUrl });
    const { status, body } = await inCluster.get<Deployment>(`/v2/deployments/${id}`);
    expect([status, body]).toEqual([200, expect.objectContaining({ name: NAME })]);
    expect((await inCluster.get<unknown[]>(`/sessions?name=${NAME}`)).body).toHaveLength(1);
  });

  it('copies the database of the agent, whose address the Secret of the cluster has', async () => {
    await waitFor(async () => (await databaseUri()) !== '', {
      what: 'the database of the suspended deployment',
      timeoutMs: 60_000,
    });
    const lines = bench.page('## Databases of agents', 1).trimEnd().split('\n');
    await shell.run(lines.slice(0, -1).join('\n'));
    forwarded('agent-database');
    const printed = await shell.run(lines.at(-1) ?? '');
    process.stderr.write(printed);
    expect(printed).toMatch(/^threads: 1 rows on both sides$/m);
    expect(printed).toMatch(/^runs: 2 rows on both sides$/m);
    expect(printed).toMatch(/^crons: 1 rows on both sides$/m);
  });

  it('serves in the cluster what clients saw on the machine, by the same key, and goes on', async () => {
    // a node asks a registry for an image without a tag each time, and there is none here
    const image = { sourceRevisionConfig: { imageUri: 'localhost/sample-agent:1' } };
    await kubectl.run([
      '-n',
      NAMESPACE,
      'patch',
      'adep',
      NAME,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: image }),
    ]);
    await shell.run(bench.page('## Workspaces of a machine', 1));
    await kubectl.run(['-n', NAMESPACE, 'wait', '--for=condition=Ready', `adep/${NAME}`, '--timeout=3m']);
    await bench.awaitService(await urlOf(inCluster, id));
    const client = await agentOf(inCluster, (url) => bench.reach(url));
    expect(await seen(client)).toEqual(before);
    const again = await client.runs.wait(threadId, 'agent', { input: QUESTION });
    expect(JSON.stringify(again)).toContain('42');
    expect(await client.runs.list(threadId)).toHaveLength(3);
  });
});
