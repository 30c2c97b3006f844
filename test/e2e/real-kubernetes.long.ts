import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { type AgentDeployment, findCondition } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { RealCluster } from '../support/real-cluster.js';
import { deploymentsOf, forbiddenNames, makeSecrets } from './testdata/forbidden-names.js';

const home = findRealKubernetes();

/** What else runs in a cluster: pods for any node, and those of a DaemonSet, which come to every node. */
const FOREIGN = `
apiVersion: v1
kind: Namespace
metadata: { name: foreign }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: foreign }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: 'example.org/web:1' }] }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: everywhere, namespace: foreign }
spec:
  selector: { matchLabels: { app: everywhere } }
  template:
    metadata: { labels: { app: everywhere } }
    spec:
      tolerations: [{ operator: Exists }]
      containers: [{ name: log, image: 'example.org/log:1' }]
`;

/** Without metrics its controller keeps the bounds alone. */
const AUTOSCALER = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: mine }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: sample-agent-00001 }
  minReplicas: 2
  maxReplicas: 3
  metrics: [{ type: Resource, resource: { name: cpu, target: { type: Utilization, averageUtilization: 80 } } }]
`;

/**
 * The control plane on a real kube-apiserver with its own controller manager and scheduler. Nothing of ours changes: the
 * node of the process runtime joins that cluster, and the same controllers and manifests run there.
 */
(home ? describe : describe.skip)('on a real Kubernetes', () => {
  const dataFolder = newDataFolder();
  let cluster: RealCluster | undefined;
  let platform: Platform;
  let kubectl: Kubectl;

  beforeAll(async () => {
    cluster = RealCluster.up(home ?? '');
    platform = await startPlatform(dataFolder, { more: ['--kubeconfig', cluster.kubeconfig] });
    kubectl = new Kubectl(join(home ?? '', 'bin', 'kubectl'), platform.credentials.kubeconfig);
  });

  afterAll(async () => {
    await platform?.stop();
    cluster?.down();
    removeDataFolder(dataFolder);
  });

  async function agent(): Promise<Client> {
    const url = (await kubectl.run(['get', 'adep', 'sample-agent', '-o', 'jsonpath={.status.url}'])).trim();
    return new Client({ apiUrl: url, apiKey: platform.credentials.apiKey, callerOptions: { maxRetries: 0 } });
  }

  async function ask(client: Client, content: string): Promise<string> {
    const values = (await client.runs.wait(null, 'agent', {
      input: { messages: [{ role: 'user', content }] },
    })) as { messages: { content: string }[] };
    return values.messages.at(-1)?.content ?? '';
  }

  it('runs on another API server than the embedded one', async () => {
    // its own aggregation layer is something that the embedded one does not have
    expect(await kubectl.run(['get', 'apiservices'])).toMatch(/v1\.apps +Local +True/);
    expect(await kubectl.run(['get', 'nodes'])).toMatch(/agentplane-.* Ready/);
  });

  it('deploys the sample agent as pods of this node', async () => {
    await kubectl.run(['apply', '-f', join(repository, 'examples/deployment.yaml')]);
    await kubectl.run(['wait', '--for=condition=Ready', 'adep/sample-agent', '--timeout=120s']);
    expect(await kubectl.run(['get', 'arev'])).toMatch(/sample-agent-00001/);
    expect(
      await kubectl.run(['get', 'pods', '-l', 'agentplane.dev/revision=sample-agent-00001', '-o', 'wide']),
    ).toMatch(/1\/1 +Running.*agentplane-/);
    expect(await ask(await agent(), 'what is 2 + 40?')).toContain('42');
  });

  it('leaves the number of pods to a HorizontalPodAutoscaler of the user while there is one', async () => {
    const workload = 'sample-agent-00001';
    const read = (path: string) => kubectl.run(['get', 'deploy', workload, '-o', `jsonpath=${path}`]);
    const file = join(dataFolder, 'autoscaler.yaml');
    writeFileSync(file, AUTOSCALER);
    await kubectl.run(['apply', '-f', file]);
    // its controller looks every 15 s
    await waitFor(async () => (await read('{.status.readyReplicas}')) === '2', {
      what: 'the autoscaler to ask for a second pod',
    });
    const generation = await read('{.metadata.generation}');
    const pod = (
      await kubectl.run(['get', 'pods', '-l', `agentplane.dev/revision=${workload}`, '-o', 'name'])
    ).split('\n')[0];
    // each change of a pod has the listener apply the Deployment
    await kubectl.run(['delete', pod ?? '', '--timeout=60s']);
    await waitFor(async () => (await read('{.status.readyReplicas}')) === '2');
    expect([await read('{.spec.replicas}'), await read('{.metadata.generation}')]).toEqual(['2', generation]);
    await kubectl.run(['delete', '-f', file]);
    await waitFor(async () => (await read('{.spec.replicas}')) === '1', {
      what: 'the listener to take the number back',
    });
  });

  it('leaves pods of others alone on the cluster that it joined', async () => {
    const file = join(dataFolder, 'foreign.yaml');
    writeFileSync(file, FOREIGN);
    await kubectl.run(['apply', '-f', file]);
    const messages = (kind: string) =>
      kubectl.run(['get', 'pods', '-n', 'foreign', '-l', `app=${kind}`, '-o', 'jsonpath={.items[*].status}']);
    await waitFor(async () => /untolerated taint/.test(await messages('web')), {
      what: 'the scheduler to leave the pod',
    });
    await waitFor(async () => (await messages('everywhere')).includes('NodeAffinity'), {
      what: 'the node to refuse the pod of the DaemonSet',
    });
    expect(await messages('everywhere')).not.toContain('containerID');
    await kubectl.run(['delete', '-f', file, '--timeout=60s']);
  });

  it('shows the logs of its pods', async () => {
    const logs = await kubectl.run(['logs', 'deploy/sample-agent-00001']);
    expect(logs.length).toBeGreaterThan(0);
  });

  it('answers logs and events of a deployment by REST, with the rights of the api alone', async () => {
    const { restUrl, apiKey } = platform.credentials;
    const get = async (path: string): Promise<string> => {
      const answer = await fetch(restUrl + path, { headers: { 'x-api-key': apiKey } });
      const text = await answer.text();
      expect([path, answer.status, answer.ok ? '' : text]).toEqual([path, 200, '']);
      return text;
    };
    const { resources } = JSON.parse(await get('/v2/deployments?name_contains=sample-agent')) as {
      resources: { id: string; name: string }[];
    };
    const id = resources.find(({ name }) => name === 'sample-agent')?.id ?? '';
    const lines = (await get(`/v2/deployments/${id}/logs`)).trimEnd().split('\n');
    const last = JSON.parse(lines.at(-1) ?? '') as object;
    expect(last).toMatchObject({ type: 'line', pod: expect.stringMatching(/^sample-agent-0000\d-/) });
    expect(lines.join('\n')).toContain('\\"msg\\":\\"ready\\"');
    const events = JSON.parse(await get(`/v2/deployments/${id}/events`)) as {
      resources: { reason: string; object: { kind: string } }[];
    };
    expect(events.resources.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['TrafficSwitched']));
    expect(events.resources.map(({ object }) => object.kind)).toContain('Pod');
  });

  it('switches the Service to a new revision without a failed request', async () => {
    await kubectl.run(['create', 'secret', 'generic', 'words', '--from-literal=GREETING=hello']);
    const client = await agent(); // the address stays, whatever revision serves
    const failures: string[] = [];
    let going = true;
    const caller = (async () => {
      while (going) await ask(client, 'hi').catch((error: unknown) => failures.push(String(error)));
    })();
    await kubectl.run([
      'patch',
      'adep',
      'sample-agent',
      '--type=merge',
      '-p',
      '{"spec":{"secretsRef":{"name":"words"}}}',
    ]);
    await waitFor(
      async () =>
        (await kubectl.run(['get', 'svc', 'sample-agent', '-o', 'jsonpath={.spec.selector}'])).includes(
          'sample-agent-00002',
        ),
      { what: 'the Service to point to the second revision' },
    );
    await waitFor(
      async () =>
        (await kubectl.run(['get', 'deploy', 'sample-agent-00001', '-o', 'jsonpath={.spec.replicas}'])) ===
        '0',
      { what: 'the first revision to be scaled to zero' },
    );
    going = false;
    await caller;
    expect(failures).toEqual([]);
  });

  it('exports through Jobs', async () => {
    await kubectl.run(['apply', '-f', join(repository, 'examples/export.yaml')]);
    const name = (await kubectl.run(['get', 'bx', '-o', 'jsonpath={.items[0].metadata.name}'])).trim();
    await kubectl.run(['wait', '--for=condition=Completed', `bx/${name}`, '--timeout=120s']);
    expect(Number(await kubectl.run(['get', 'bx', name, '-o', 'jsonpath={.status.rows}']))).toBeGreaterThan(
      0,
    );
  });

  it('gives no container a Secret or a volume of the platform that a deployment names', async () => {
    await makeSecrets(kubectl);
    const forbidden = forbiddenNames();
    // an API server itself takes such pods
    for (const { name, spec } of forbidden) {
      const { volumes, initContainers, sidecars = [{ name: 'main', image: 'x' }] } = spec;
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { volumes, initContainers, containers: sidecars },
      };
      await kubectl.run(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(pod) });
    }
    await kubectl.run(['apply', '-f', '-'], { input: JSON.stringify(deploymentsOf(forbidden)) });
    const reports = async () => {
      const { items } = JSON.parse(await kubectl.run(['get', 'adep', '-o', 'json'])) as {
        items: readonly AgentDeployment[];
      };
      return items
        .filter(({ metadata }) => metadata.name.startsWith('greedy-'))
        .map(({ metadata, status }) => {
          const { reason, message } = findCondition(status?.conditions, 'RevisionReady') ?? {};
          return { name: metadata.name, report: `${reason ?? ''}: ${message ?? ''}` };
        });
    };
    await waitFor(async () => (await reports()).every(({ report }) => /Refused/.test(report)), {
      what: 'each deployment to be refused',
    });
    expect(await reports()).toEqual(forbidden.map(({ name, report }) => ({ name, report })));
    expect(await kubectl.run(['get', 'arev', '-o', 'name'])).not.toContain('greedy-');
    await kubectl.run(['delete', 'adep', 'victim', ...forbidden.map(({ name }) => name), '--timeout=60s']);
  });

  it('deletes everything that it made', async () => {
    await kubectl.run(['delete', 'adep', 'sample-agent', '--timeout=90s']);
    await kubectl.run(['delete', 'bx', '--all', '--timeout=90s']);
    await waitFor(
      async () => {
        const left = await kubectl.run([
          'get',
          'arev,deploy,pods,svc,bxr',
          '-l',
          'agentplane.dev/deployment=sample-agent',
          '-o',
          'name',
        ]);
        const jobs = await kubectl.run(['get', 'jobs', '-n', 'agentplane-system', '-o', 'name']);
        return left.trim() === '' && jobs.trim() === '';
      },
      { what: 'children to go' },
    );
  });
});

if (!home) it('needs a real Kubernetes', () => leaveOut('a real Kubernetes'));
