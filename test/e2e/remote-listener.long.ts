import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { itLong, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { CutLink } from '../support/cut-link.js';
import { findRealKubernetes, Kubectl, leaveOut } from '../support/kubectl.js';
import { MachineNode } from '../support/machine-node.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { RealCluster } from '../support/real-cluster.js';
import { Rest } from '../support/rest.js';

const run = promisify(execFile);
const home = findRealKubernetes();
const NAMESPACE = 'far-agents';
const STALE_MS = 15_000;
const SERVED_MS = 120_000;

interface Listener {
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  readonly is_ready: boolean;
  readonly status_reason: string;
}

interface Deployment {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string;
  readonly status_message: string;
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
  readonly url: string;
}

/**
 * Two real API servers with their own controllers and schedulers: the platform on one, the hub, and on the other a machine
 * as its node and the listener, which reaches the hub by a link that is cut.
 */
(home ? describe : describe.skip)('listener in another cluster', () => {
  const [dataFolder, farFolder] = [newDataFolder(), newDataFolder()];
  const clusters: RealCluster[] = [];
  let platform: Platform;
  let node: MachineNode;
  let link: CutLink;
  let [hub, far]: Kubectl[] = [];
  let rest: Rest;
  let listener: Listener;
  let deployment: Deployment;
  let image: string;

  beforeAll(async () => {
    for (let one = 0; one < 2; one++) clusters.push(RealCluster.up(home ?? ''));
    const [first = '', second = ''] = clusters.map(({ kubeconfig }) => kubeconfig);
    platform = await startPlatform(dataFolder, {
      more: ['--kubeconfig', first],
      environment: { AGENTPLANE_HEARTBEAT_STALE_MS: String(STALE_MS) },
    });
    const kubectl = join(home ?? '', 'bin', 'kubectl');
    hub = new Kubectl(kubectl, platform.credentials.kubeconfig);
    far = new Kubectl(kubectl, second);
    rest = new Rest(platform.credentials);
    const images = JSON.parse(await agentplane('image', 'list', '-o', 'json')) as object[];
    image =
      /local\/sample-agent@sha256:[0-9a-f]+|sha256:[0-9a-f]{64}/.exec(JSON.stringify(images))?.[0] ?? '';
    if (!image.startsWith('local/')) image = `local/sample-agent@${image}`;
    node = new MachineNode(farFolder, second, join(dataFolder, 'images'));
    await node.ready();
    link = await CutLink.to(Number(new URL(await serverOf(first)).port));
  });

  afterAll(async () => {
    link?.close();
    await node?.stop();
    await platform?.stop();
    for (const cluster of clusters) cluster.down();
    for (const folder of [dataFolder, farFolder]) removeDataFolder(folder);
  });

  async function serverOf(kubeconfig: string): Promise<string> {
    const options = ['config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}'];
    return new Kubectl(join(home ?? '', 'bin', 'kubectl'), kubeconfig).run(options);
  }

  async function agentplane(...words: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, ['bin/agentplane.js', ...words, '--data', dataFolder], {
      cwd: repository,
      maxBuffer: 1 << 24,
    });
    return stdout;
  }

  const getListener = async () => (await rest.get<Listener>(`/v2/listeners/${listener.id}`)).body;
  const getDeployment = async () => (await rest.get<Deployment>(`/v2/deployments/${deployment.id}`)).body;
  const statusOf = async (revision: string) =>
    (await rest.get<{ status: string }>(`/v2/deployments/${deployment.id}/revisions/${revision}`)).body
      .status;
  const inPlace = (kind: string) => far?.run(['get', kind, '-n', NAMESPACE, '-o', 'name']) ?? '';

  async function ask(): Promise<string> {
    const answer = await fetch(`${(await getDeployment()).url}/runs/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': platform.credentials.apiKey },
      body: JSON.stringify({
        assistant_id: 'agent',
        input: { messages: [{ role: 'user', content: 'what is 2 + 40?' }] },
      }),
    });
    return answer.text();
  }

  async function patch(body: object): Promise<string> {
    const answer = await rest.patch<Deployment>(`/v2/deployments/${deployment.id}`, body);
    expect(answer.status).toBe(200);
    return answer.body.latest_revision_id;
  }

  const until = (revision: string, status: string) =>
    waitFor(async () => (await statusOf(revision)) === status, {
      what: `the revision to be ${status}`,
      timeoutMs: SERVED_MS,
    });

  it('starts from the output of one command, and reports its version', async () => {
    const made = await rest.post<Listener>('/v2/listeners', {
      compute_id: 'far',
      compute_config: { cluster_namespaces: [NAMESPACE] },
      remote: { api_url: platform.credentials.restUrl },
    });
    expect(made.status).toBe(201);
    listener = made.body;
    await waitFor(() => hub?.run(['get', 'serviceaccount', 'listener-far']));
    const manifest = ['listener', 'manifest', 'far', '--server', `https://127.0.0.1:${link.port}`];
    const text = await agentplane(...manifest, '--addresses', 'loopback');
    await far?.run(['apply', '-f', '-'], { input: text });
    // with a token of its own, which the program reads from then on
    const secret = await agentplane(...manifest, '--only-secret');
    expect(await far?.run(['apply', '-f', '-'], { input: secret })).toBe(
      'secret/listener-far-hub configured\n',
    );
    const ready = await waitFor(
      async () => {
        const found = await getListener();
        return found.is_ready && found;
      },
      { what: 'a heartbeat', timeoutMs: SERVED_MS },
    );
    expect(ready.version).toMatch(/^\d+\.\d+/);
    expect((await hub?.run(['get', 'deployments', '-o', 'name'])) ?? '').not.toContain('listener-far');
  });

  it('runs a deployment there, and nothing of it in the cluster of the platform', async () => {
    const made = await rest.post<Deployment>('/v2/deployments', {
      name: 'far agent',
      source: 'external_image',
      source_config: { listener_id: listener.id, listener_config: { cluster_namespace: NAMESPACE } },
      source_revision_config: { image_uri: image },
      secrets: [{ name: 'GREETING', value: 'hello' }],
      min_ready_seconds: 0,
    });
    expect(made.status).toBe(201);
    deployment = made.body;
    await until(deployment.latest_revision_id, 'DEPLOYED');
    expect(await ask()).toContain('42');
    expect(await inPlace('pods')).toContain('far-agent');
    expect((await hub?.run(['get', 'pods,deployments,services', '-o', 'name'])) ?? '').not.toContain(
      'far-agent',
    );
  });

  it('has the rights of a listener in the hub, and no others', async () => {
    const file = join(farFolder, 'hub.kubeconfig');
    writeFileSync(file, await agentplane('listener', 'kubeconfig', 'far', '--duration', '1h'), {
      mode: 0o600,
    });
    const as = new Kubectl(join(home ?? '', 'bin', 'kubectl'), file);
    const revision = (await as.run(['get', 'arev', '-o', 'jsonpath={.items[0].metadata.name}'])).trim();
    const may = async (...words: string[]) => (await as.try(['auth', 'can-i', ...words])).stdout.trim();
    for (const words of [
      ['list', 'agentdeployments'],
      ['get', `secrets/${revision}-env`],
      ['patch', `agentrevisions/${revision}`],
      ['patch', `agentrevisions/${revision}`, '--subresource=status'],
      ['patch', 'listeners/far', '--subresource=status'],
    ])
      expect([words, await may(...words)]).toEqual([words, 'yes']);
    for (const words of [
      ['list', 'secrets'],
      ['get', 'secrets/listener-far-key'],
      ['patch', 'agentdeployments'],
      ['create', 'agentrevisions'],
      ['patch', 'agentrevisions/another'],
      ['patch', 'agentrevisions/another', '--subresource=status'],
      ['patch', 'listeners/default', '--subresource=status'],
      ['create', 'deployments.apps'],
      ['create', 'pods'],
      ['list', 'agentdeployments', '-n', 'default'],
    ])
      expect([words, await may(...words)]).toEqual([words, 'no']);
    const { contexts } = parse(await agentplane('listener', 'kubeconfig', 'far')) as {
      contexts: { context: { namespace: string } }[];
    };
    expect(contexts[0]?.context.namespace).toBe('ws-default');
  });

  it('rolls out another revision, and goes on serving while one fails', async () => {
    const second = await patch({ secrets: [{ name: 'GREETING', value: 'again' }] });
    await until(second, 'DEPLOYED');
    const failing = await patch({
      source_revision_config: { image_uri: 'local/missing@sha256:'.padEnd(85, '0') },
    });
    await until(failing, 'DEPLOY_FAILED');
    // the deployment is written after its revision
    const said = await waitFor(
      async () => {
        const found = await getDeployment();
        return /image/i.test(found.status_message ?? '') && found;
      },
      { what: 'the deployment to name the image' },
    );
    expect(said.active_revision_id).toBe(second);
    expect(await ask()).toContain('42');
  });

  /** What is asked for while the link is down is done once it is back. */
  async function loseLink(forMs = 0): Promise<void> {
    link.cut();
    const lost = await waitFor(
      async () => {
        const found = await getDeployment();
        return found.status === 'UNKNOWN' && found;
      },
      { what: 'the deployment to be UNKNOWN', timeoutMs: STALE_MS + 30_000 },
    );
    expect(lost).toMatchObject({
      status_reason: 'NoHeartbeat',
      status_message: expect.stringMatching(/^Listener far: last heartbeat at /),
    });
    expect(await getListener()).toMatchObject({ is_ready: false, status_reason: 'NoHeartbeat' });
    expect(await ask()).toContain('42');
    const asked = await patch({ source_revision_config: { image_uri: image } });
    await systemClock.sleep(forMs);
    expect(await ask()).toContain('42');
    link.mend();
    await waitFor(async () => (await getListener()).is_ready, {
      what: 'the listener to be heard again',
    });
    await until(asked, 'DEPLOYED');
    expect((await getDeployment()).status).toBe('READY');
    expect(await ask()).toContain('42');
  }

  it('comes back after its link was lost', () => loseLink());
  itLong('comes back after its link was lost for ten minutes', () => loseLink(600_000));

  it('refuses its deletion by REST while it carries out a deployment', async () => {
    const answer = await rest.call<{ detail: string }>('DELETE', `/v2/listeners/${listener.id}`);
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('far agent') } });
  });

  it('leaves nothing there of a deployment that is deleted', async () => {
    await rest.call('DELETE', `/v2/deployments/${deployment.id}`);
    await waitFor(async () => (await rest.get(`/v2/deployments/${deployment.id}`)).status === 404, {
      what: 'the deployment to go',
    });
    for (const kind of ['deployments', 'services', 'secrets'])
      expect(await inPlace(kind)).not.toContain('far-agent-');
    await waitFor(async () => !(await inPlace('pods')).includes('far-agent-'));
    expect((await rest.call('DELETE', `/v2/listeners/${listener.id}`)).status).toBe(204);
    await waitFor(async () => (await hub?.try(['get', 'serviceaccount', 'listener-far']))?.code === 1, {
      what: 'its account to go',
    });
  });
});

if (!home) it('needs two real API servers', () => leaveOut('a real Kubernetes'));
