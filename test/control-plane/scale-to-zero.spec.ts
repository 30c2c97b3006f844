import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IDLE_HEADER } from '#lib/lifecycle';
import { DEPLOYMENTS, findCondition, PODS, RESOURCES, SERVICES } from '#lib/resources';
import { hasRealKubernetes, testApiServer, testPostgres, waitFor } from '#lib/testing';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';

/** Where the pod listens: an address of this machine that no other test has. */
const POD_IP = '127.0.0.9';
const IN_CLUSTER = { AGENTPLANE_ADDRESSES: 'cluster-dns' };
const KEY = { namespace: NAMESPACE, name: 'zero' };
const REVISION = 'zero-00001';

(hasRealKubernetes ? describe : describe.skip)('a deployment with a minScale of 0 on a cluster', () => {
  const postgres = testPostgres();
  const start = testControlPlane(testApiServer());
  let plane: ControlPlane;
  let agentUri: string;
  let pod: ServerProcess | undefined;

  beforeAll(async () => {
    agentUri = (await postgres.freshDatabase()).uri;
    plane = await start();
    await restartListener('SIGTERM');
  });
  afterAll(async () => {
    await pod?.stop();
    await plane.stop();
  });

  async function restartListener(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await plane.program('listener').end(signal);
    await plane.startListener({}, IN_CLUSTER);
  }

  const revision = () => plane.client.get(RESOURCES.AgentRevision, { ...KEY, name: REVISION });
  const reason = async () => findCondition((await revision()).status?.conditions, 'Ready')?.reason;
  const service = () => plane.client.get(SERVICES, KEY);
  const leadsToAgent = async () =>
    (await service()).spec.selector?.['agentplane.dev/revision'] === REVISION &&
    (await service()).spec.ports?.[0]?.targetPort === 'http';
  const replicas = async () =>
    (await plane.client.get(DEPLOYMENTS, { ...KEY, name: REVISION })).spec.replicas;

  /** What a node reads in the pod's spec, and who may view the namespace. */
  async function tokenDigest(): Promise<string> {
    const { spec } = await plane.client.get(DEPLOYMENTS, { ...KEY, name: REVISION });
    const variables = spec.template.spec.containers.flatMap(({ env = [] }) => env);
    return variables.find(({ name }) => name === 'AGENTPLANE_IDLE_TOKEN_SHA256')?.value ?? '';
  }

  /** What a node does with the pod that the revision has now. */
  async function runPod(): Promise<void> {
    const [made] = await waitFor(async () => {
      const pods = await plane.podsOf(REVISION);
      return pods.length > 0 && pods;
    });
    const env = { HOST: POD_IP, PORT: '8000', AGENTPLANE_IDLE_TOKEN_SHA256: await tokenDigest() };
    pod = await ServerProcess.start({ uri: agentUri, env });
    const name = made?.metadata.name ?? '';
    await plane.client.mergeStatus(PODS, { ...KEY, name }, { status: { podIP: POD_IP } });
    await plane.report(REVISION, { ready: true });
  }

  /** A request to the agent whose body does not end: it is not idle, however slowly a test looks at it. @returns ends it */
  function keepBusy(): () => void {
    const request = new AbortController();
    const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{')) });
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body, duplex: 'half', signal: request.signal } as const;
    void fetch(`http://${POD_IP}:8000/threads`, options).catch(() => undefined);
    return () => request.abort();
  }

  /** The port of the activator that the Service leads to while the deployment sleeps. */
  async function heldPort(): Promise<number> {
    const { selector, ports } = (await service()).spec;
    expect(selector).toEqual({
      'agentplane.dev/listener': 'default',
      'app.kubernetes.io/component': 'listener',
    });
    return Number(ports?.[0]?.targetPort);
  }

  async function fallAsleep(): Promise<void> {
    await waitFor(async () => (await reason()) === 'Asleep');
    // on record before the pods go
    await waitFor(async () => (await replicas()) === 0);
    await waitFor(async () => (await plane.podsOf(REVISION)).length === 0);
    await pod?.stop();
  }

  it('leads its Service to the listener while it sleeps, which holds requests and starts it', async () => {
    await plane.client.create(RESOURCES.AgentDeployment, {
      metadata: KEY,
      spec: {
        source: 'external_image',
        sourceConfig: { resourceSpec: { minScale: 0 } },
        sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
        suspend: false,
        revisionHistoryLimit: 10,
        minReadySeconds: 0,
        idleSeconds: 2,
      },
    });
    await runPod();
    const beginIdling = keepBusy();
    await waitFor(leadsToAgent);
    for (const token of [(await revision()).metadata.uid ?? '', await tokenDigest()]) {
      const headers = { [IDLE_HEADER]: token };
      const answer = await fetch(`http://${POD_IP}:8000/ok?idle=close`, { headers });
      expect(await answer.json()).toEqual({ ok: true });
    }
    beginIdling();
    await fallAsleep();
    const before = await heldPort();
    await restartListener('SIGKILL');
    await waitFor(async () => (await heldPort()) !== before);
    expect(await replicas()).toBe(0);
    expect(await (await fetch(`http://127.0.0.1:${await heldPort()}/ok`)).json()).toEqual({
      ok: true,
      asleep: true,
    });
    const answer = fetch(`http://127.0.0.1:${await heldPort()}/threads`, { method: 'POST', body: '{}' });
    await runPod();
    const endWork = keepBusy();
    expect((await answer).status).toBe(415);
    await waitFor(leadsToAgent);
    await waitFor(async () => (await reason()) === 'Serving');
    endWork();
    await fallAsleep();
  });
});
