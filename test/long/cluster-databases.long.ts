import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, waitFor } from '#lib/testing';
import { agentAt, deployed, type Deployment, urlOf } from '../e2e/walk-rows.js';
import { ClusterBench, RESTRICTED } from '../support/cluster-bench.js';
import { hostVolume } from '../support/host-volume.js';
import { findRealKubernetes, type Kubectl, leaveOut } from '../support/kubectl.js';
import { connectAsAdministrator, POSTGRES_USER } from '../support/own-postgres.js';
import { startPageDatabase } from '../support/page-database.js';
import { canBeNode } from '../support/real-cluster.js';
import type { Rest } from '../support/rest.js';

const home = findRealKubernetes() ?? '';
const isPossible = home !== '' && canBeNode(home);
if (!isPossible) leaveOut('a real node (install.sh --helm --node, as root)');

const NAME = 'keeper';
const SERVER = `${NAME}-postgres`;
const HERE =
  '--set agents.databases.image=localhost/trial-postgres:1 --set agents.runAsNonRoot=true --timeout 9m';
const QUESTION = { messages: [{ role: 'user', content: 'what is 2 + 40?' }] };

/** What docs/design/resource-spec.md says of a Postgres server of a deployment's own, where pods really run. */
(isPossible ? describe : describe.skip)('a Postgres server of a deployment’s own on a real node', () => {
  const folder = temporaryFolder();
  let bench: ClusterBench;
  let kubectl: Kubectl;
  let rest: Rest;
  let namespace: string;
  let deployment: Deployment;
  let threadId: string;

  beforeAll(async () => {
    bench = await ClusterBench.up(home, folder);
    ({ kubectl } = bench);
    const data = join(folder, 'server');
    mkdirSync(data);
    chownSync(data, POSTGRES_USER, POSTGRES_USER);
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(hostVolume(NAME, '1Gi', data)) });
    await startPageDatabase(bench);
    await bench.shell.run(bench.page('## Install'), HERE);
    rest = await bench.restWithFirstKey();
    namespace = await bench.workspaceNamespace();
    await kubectl.run(['label', 'namespace', namespace, ...RESTRICTED]);
  });

  afterAll(() => bench?.down());

  const inWorkspace = async (...words: readonly string[]): Promise<string> =>
    (await kubectl.run(['-n', namespace, ...words])).trim();

  async function agent(): Promise<ReturnType<typeof agentAt>> {
    const reach = (url: string): string => bench.reach(url);
    return agentAt({ rest, reach }, await urlOf(rest, deployment.id));
  }

  it('makes the server, and the agent keeps its threads there', async () => {
    const answer = await rest.post<Deployment>('/v2/deployments', {
      name: NAME,
      source: 'external_image',
      secrets: [],
      source_config: { resource_spec: { db_cpu: 0.1, db_memory_mb: 256, db_storage_gi: 1 } },
      source_revision_config: { image_uri: 'localhost/sample-agent:1' },
    });
    expect(answer.status).toBe(201);
    deployment = answer.body;
    await deployed(rest, deployment.id, deployment.latest_revision_id ?? '');
    const uri = 'go-template={{index .data "POSTGRES_URI" | base64decode}}';
    const { hostname, pathname } = new URL(await inWorkspace('get', 'secret', `${NAME}-database`, '-o', uri));
    expect(hostname).toBe(`${SERVER}.${namespace}.svc`);
    await bench.awaitService(await urlOf(rest, deployment.id));
    const client = await agent();
    ({ thread_id: threadId } = await client.threads.create());
    await client.runs.wait(threadId, 'agent', { input: QUESTION });
    const shared = await connectAsAdministrator(new URL(bench.serviceUrl('postgres', 'databases')).host);
    const { rows } = await shared.query('SELECT FROM pg_database WHERE datname = $1', [pathname.slice(1)]);
    await shared.end();
    expect(rows).toEqual([]);
  });

  it('finds what was stored after the pod of the server was killed', async () => {
    const before = await inWorkspace('get', 'pod', `${SERVER}-0`, '-o', 'jsonpath={.metadata.uid}');
    await inWorkspace('delete', 'pod', `${SERVER}-0`, '--grace-period=0', '--force');
    await waitFor(
      async () => {
        const words = ['get', 'pod', `${SERVER}-0`, '-o', 'jsonpath={.metadata.uid}', '--ignore-not-found'];
        return ![before, ''].includes(await inWorkspace(...words));
      },
      { what: 'another pod of the server' },
    );
    await inWorkspace('wait', '--for=condition=Ready', `pod/${SERVER}-0`, '--timeout=2m');
    const ready = async (): Promise<boolean> => {
      const { body } = await rest.get<Deployment>(`/v2/deployments/${deployment.id}`);
      return body.status === 'READY';
    };
    await waitFor(ready, { what: 'the deployment to be READY', timeoutMs: 120_000 });
    const client = await agent();
    const read = () => client.threads.getState<{ messages: { content: string }[] }>(threadId);
    const { values } = await waitFor(() => read().catch(() => undefined));
    expect(values.messages.at(-1)?.content).toContain('42');
    await client.runs.wait(threadId, 'agent', { input: QUESTION });
  });

  it('removes all of it with its deployment', async () => {
    const kinds = 'statefulsets,services,persistentvolumeclaims,secrets,networkpolicies,pods';
    const left = () => inWorkspace('get', kinds, '-l', `agentplane.dev/database-of=${NAME}`, '-o', 'name');
    expect((await left()).split('\n').sort()).toEqual([
      `networkpolicy.networking.k8s.io/${SERVER}`,
      `persistentvolumeclaim/${SERVER}`,
      `pod/${SERVER}-0`,
      `secret/${SERVER}`,
      `service/${SERVER}`,
      `statefulset.apps/${SERVER}`,
    ]);
    expect((await rest.call('DELETE', `/v2/deployments/${deployment.id}`)).status).toBeLessThan(300);
    await waitFor(async () => (await left()) === '', { what: 'the server to go', timeoutMs: 180_000 });
  });
});
