import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, type KubeConnection, loadKubeConnection } from '#lib/kube';
import { findProcess, isRunning } from '#lib/process-identity';
import { createLogger } from '#lib/telemetry';
import { hasRealKubernetes, temporaryFolder, testApiServer, testEmbeddedKube, waitFor } from '#lib/testing';
import {
  CONFIG_MAPS,
  CPU_LIMITS_KEPT,
  LEASES,
  NAMESPACES,
  NODES,
  type Pod,
  type PodContainer,
  PODS,
  type PodSpec,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { certificates } from '../testdata/certificates.js';
import type { ProcessRecord } from '../strays/end-strays.js';
import { type RunningNode, startNode } from './start-node.js';

const log = createLogger('test', process.env.TEST_LOG ?? 'silent');
const PROGRAM = join(import.meta.dirname, '..', 'testdata', 'program.mjs');

const HOMES = [
  { name: 'the embedded API server', home: testEmbeddedKube },
  ...(hasRealKubernetes ? [{ name: 'a real API server', home: testApiServer }] : []),
];

/** Everything is done by hand here that a scheduler and controllers would do: pods are bound as they are made. */
describe.each(HOMES)('a node on $name', ({ home }) => {
  const server = home();
  const folder = temporaryFolder();
  const image = join(folder, 'image');
  let connection: KubeConnection;
  let client: KubeClient;
  let node: RunningNode;
  let made = 0;

  const start = async (): Promise<RunningNode> =>
    startNode({
      connection,
      folder: join(folder, 'node'),
      images: {
        resolve: async (reference) =>
          Promise.resolve(reference === 'test/program' ? { folder: image, entryPoint: PROGRAM } : undefined),
      },
      serving: await certificates(),
      port: 0,
      version: '0.0.0',
      log,
      stopGraceMs: 2_000,
    });

  beforeAll(async () => {
    mkdirSync(image);
    connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
    await client.create(NAMESPACES, { metadata: { name: 'here' } });
    const account = { namespace: 'here', name: 'default' };
    if (!(await client.find(SERVICE_ACCOUNTS, account)))
      await client.create(SERVICE_ACCOUNTS, { metadata: account });
    node = await start();
  }, 90_000);

  afterAll(async () => {
    await node?.stop();
    await client?.close();
  });

  interface PodOptions extends Partial<PodSpec> {
    readonly env?: Readonly<Record<string, string>>;
    readonly container?: Partial<PodContainer>;
  }

  async function run({ env = {}, container = {}, ...spec }: PodOptions): Promise<Pod> {
    const name = `pod-${++made}`;
    return client.create(PODS, {
      metadata: { namespace: 'here', name, labels: { app: name } },
      spec: {
        nodeName: node.nodeName,
        automountServiceAccountToken: false,
        ...spec,
        containers: [
          {
            name: 'main',
            image: 'test/program',
            ports: [{ name: 'http', containerPort: 8000 }],
            ...container,
            env: [
              ...Object.entries(env).map(([key, value]) => ({ name: key, value })),
              ...(container.env ?? []),
            ],
          },
        ],
      },
    });
  }

  const read = (pod: Pod): Promise<Pod> => client.get(PODS, { namespace: 'here', name: pod.metadata.name });

  const until = (pod: Pod, what: string, test: (pod: Pod) => boolean | undefined): Promise<Pod> =>
    waitFor(
      async () => {
        const now = await read(pod);
        if (test(now)) return now;
        throw new Error(JSON.stringify(now.status));
      },
      { timeoutMs: 20_000, what: `${pod.metadata.name} ${what}` },
    );

  const isReady = ({ status }: Pod): boolean | undefined =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');

  const main = (pod: Pod): NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number] | undefined =>
    pod.status?.containerStatuses?.[0];

  const portOf = (pod: Pod): number =>
    (
      JSON.parse(pod.metadata.annotations?.['agentplane.dev/loopback-ports'] ?? '{}') as Record<
        string,
        number
      >
    )['8000'] ?? 0;

  const processOf = (pod: Pod): ProcessRecord =>
    JSON.parse(
      readFileSync(join(folder, 'node', 'pods', pod.metadata.uid ?? '', 'main.process.json'), 'utf8'),
    ) as ProcessRecord;

  async function remove(pod: Pod, gracePeriodSeconds?: number): Promise<void> {
    await client.delete(
      PODS,
      { namespace: 'here', name: pod.metadata.name },
      gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
    );
    await waitFor(async () => !(await client.find(PODS, { namespace: 'here', name: pod.metadata.name })), {
      timeoutMs: 15_000,
      what: 'the pod to be deleted',
    });
  }

  it('registers itself and its lease', async () => {
    const found = await client.get(NODES, { name: node.nodeName });
    expect(found.metadata.labels?.['agentplane.dev/runtime']).toBe('process');
    expect(Number(found.status?.capacity?.cpu)).toBeGreaterThanOrEqual(4);
    expect(found.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
    expect(found.status?.conditions?.find(({ type }) => type === 'PodsRunAsRoot')?.message).toEqual(
      isRoot
        ? expect.stringMatching(/^pods run as root and can read everything here: .*switched off/)
        : undefined,
    );
    const lease = await client.get(LEASES, { namespace: 'kube-node-lease', name: node.nodeName });
    expect(lease.spec).toMatchObject({ holderIdentity: node.nodeName, leaseDurationSeconds: 40 });
  });

  it('runs a pod, reports readiness, serves the pod on loopback and leaves nothing after its deletion', async () => {
    const pod = await until(
      await run({
        container: { readinessProbe: { httpGet: { path: '/ok', port: 'http' }, periodSeconds: 5 } },
      }),
      'to be ready',
      isReady,
    );
    expect(pod.status?.phase).toBe('Running');
    expect(pod.status?.podIP ?? '').toBe('');
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'other' } };
    expect([pod, other].map((one) => node.hasPort(one, portOf(pod)))).toEqual([true, false]);
    expect(main(pod)).toMatchObject({
      name: 'main',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: {} },
    });
    expect(await (await fetch(`http://127.0.0.1:${portOf(pod)}/ok`)).text()).toBe('ok');
    const record = processOf(pod);
    expect(isRunning(record)).toBe(true);
    await remove(pod);
    expect(isRunning(record)).toBe(false);
    await waitFor(() => !existsSync(join(folder, 'node', 'pods', pod.metadata.uid ?? '')));
  });

  it('reports a pod ready again after the cluster has marked it unready', async () => {
    const pod = await until(await run({}), 'to be ready', isReady);
    const conditions = pod.status?.conditions?.map(
      (one) => ({ ...one, status: one.type === 'Ready' ? 'False' : one.status }) as const,
    );
    const marked = await client.mergeStatus(
      PODS,
      { namespace: 'here', name: pod.metadata.name },
      { status: { conditions: conditions ?? [] } },
    );
    expect(isReady(marked)).toBe(false);
    await until(pod, 'to be ready again', isReady);
    await remove(pod);
  });

  it('gives a container the variables of its spec and none of the platform', async () => {
    await client.create(CONFIG_MAPS, {
      metadata: { namespace: 'here', name: 'settings' },
      data: { colour: 'green', size: '3' },
    });
    const pod = await run({
      env: { GREETING: 'hello', BOTH: '$(GREETING) $(PLAIN) $$(GREETING)', PORT: '1' },
      container: {
        envFrom: [
          { configMapRef: { name: 'settings' }, prefix: 'SET_' },
          { secretRef: { name: 'missing', optional: true } },
        ],
        env: [
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'late', key: 'password' } } },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        ],
      },
    });
    const waiting = await until(
      pod,
      'to wait for its secret',
      (now) => main(now)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(main(waiting)?.state?.waiting?.message).toBe('Secret late has no key password');
    await client.create(SECRETS, {
      metadata: { namespace: 'here', name: 'late' },
      data: { password: 'cGFzcw==' },
    });
    const ready = await until(pod, 'to run', isReady);
    const environment = await waitFor(
      async () =>
        (await (await fetch(`http://127.0.0.1:${portOf(ready)}/environment`)).json()) as Record<
          string,
          string
        >,
    );
    expect(environment).toMatchObject({
      SET_colour: 'green',
      SET_size: '3',
      PASSWORD: 'pass',
      BOTH: 'hello $(PLAIN) $(GREETING)',
      NAME: pod.metadata.name,
      APP: pod.metadata.name,
      HOST: '127.0.0.1',
      PORT: String(portOf(ready)),
      cwd: image,
    });
    expect(Object.keys(environment).filter((name) => /^(JEST|npm_|KUBECONFIG)/.test(name))).toEqual([]);
    await remove(pod);
  });

  it('keeps the limit of CPU of a container, or says why not and lowers its priority', async () => {
    const pod = await until(
      await run({ container: { resources: { limits: { cpu: '250m' } } } }),
      'to run',
      ({ status }) => status?.phase === 'Running',
    );
    const { pid } = processOf(pod);
    const { status } = await client.get(NODES, { name: node.nodeName });
    const kept = status?.conditions?.find(({ type }) => type === CPU_LIMITS_KEPT);
    if (kept?.status === 'True')
      expect(readFileSync(`/proc/${pid}/cgroup`, 'utf8')).toMatch(
        new RegExp(`/agentplane-${node.nodeName}/[0-9a-f-]{36}$`, 'm'),
      );
    else {
      expect(kept).toMatchObject({ status: 'False', reason: 'NoControlGroups' });
      expect(getPriority(pid)).toBe(10);
    }
    await remove(pod, 0);
  });

  it('reports ErrImagePull for an image that does not exist', async () => {
    const pod = await run({ container: { image: 'local/unknown' } });
    const waiting = await until(
      pod,
      'to say so',
      (now) => main(now)?.state?.waiting?.reason === 'ErrImagePull',
    );
    expect(waiting.status?.phase).toBe('Pending');
    await remove(pod);
  });

  it('survives a process that the operating system refuses to start', async () => {
    await client.create(SECRETS, {
      metadata: { namespace: 'here', name: 'binary' },
      data: { value: 'YQBi' },
    });
    const env = [{ name: 'VALUE', valueFrom: { secretKeyRef: { name: 'binary', key: 'value' } } }];
    const binary = await run({ restartPolicy: 'Never', container: { env } });
    const missing = await run({ restartPolicy: 'Never', container: { command: ['no-such-program'] } });
    for (const pod of [binary, missing]) {
      const over = await until(pod, 'to fail', ({ status }) => status?.phase === 'Failed');
      expect(main(over)?.state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
      await remove(pod);
    }
  });

  it('restarts a failed container and keeps its log', async () => {
    const pod = await run({ env: { EXIT_CODE: '78', MESSAGE: '{"reason":"GraphLoadFailed"}' } });
    const looping = await until(pod, 'to crash twice', (now) => (main(now)?.restartCount ?? 0) >= 2);
    expect(main(looping)?.lastState?.terminated).toMatchObject({
      exitCode: 78,
      reason: 'Error',
      message: '{"reason":"GraphLoadFailed"}',
    });
    await until(pod, 'to back off', (now) => main(now)?.state?.waiting?.reason === 'CrashLoopBackOff');
    expect((await read(pod)).status?.phase).toBe('Running');
    await remove(pod);
  });

  it.each([
    ['0', 'Succeeded', 'Completed'],
    ['3', 'Failed', 'Error'],
  ])('reports a pod that is never restarted and exits with %s as %s', async (code, phase, reason) => {
    const pod = await run({ restartPolicy: 'Never', env: { EXIT_CODE: code } });
    const over = await until(pod, phase, ({ status }) => status?.phase === phase);
    expect(main(over)).toMatchObject({
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode: Number(code), reason } },
    });
    await remove(pod);
  });

  it('ends a pod that outlives its deadline', async () => {
    const pod = await run({ activeDeadlineSeconds: 1 });
    const over = await until(pod, 'to fail', ({ status }) => status?.phase === 'Failed');
    expect(over.status?.reason).toBe('DeadlineExceeded');
    await remove(pod);
  });

  it('restarts a container whose liveness probe fails, on the same port', async () => {
    const health = join(folder, 'health');
    writeFileSync(health, '');
    const pod = await run({
      env: { HEALTH_FILE: health },
      container: {
        readinessProbe: { httpGet: { port: 8000 }, periodSeconds: 1 },
        livenessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1, failureThreshold: 2 },
      },
    });
    const ready = await until(pod, 'to be ready', isReady);
    rmSync(health);
    await until(pod, 'to be restarted', (now) => main(now)?.restartCount === 1);
    writeFileSync(health, '');
    const again = await until(
      pod,
      'to be ready again',
      (now) => isReady(now) && main(now)?.restartCount === 1,
    );
    expect(portOf(again)).toBe(portOf(ready));
    await remove(pod);
  });

  it('runs init containers one after another before the containers', async () => {
    const marks = join(folder, 'marks');
    const init = (name: string): PodContainer => ({
      name,
      image: 'test/program',
      command: ['sh', '-c', `echo ${name} >> ${marks}`],
    });
    const pod = await until(
      await run({ initContainers: [init('one'), init('two')] }),
      'to be ready',
      isReady,
    );
    expect(readFileSync(marks, 'utf8')).toBe('one\ntwo\n');
    expect(pod.status?.initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([
      0, 0,
    ]);
    await remove(pod);
  });

  it('kills a container that outlives its grace period, with every process it started', async () => {
    const children = join(folder, 'child.pid');
    const pod = await run({
      container: {
        command: ['sh', '-c', `trap '' TERM; sleep 1000 & echo $! > ${children}; while :; do sleep 1; done`],
      },
    });
    const running = await until(pod, 'to run', isReady);
    const child = await waitFor(() => findProcess(Number(readFileSync(children, 'utf8'))));
    const record = processOf(running);
    const before = performance.now();
    await remove(pod, 1);
    expect(performance.now() - before).toBeGreaterThan(900);
    expect([isRunning(record), isRunning(child)]).toEqual([false, false]);
  });

  it('mounts the service account of a pod as a kubeconfig', async () => {
    const account = { namespace: 'here', name: 'reader' };
    await client.create(SERVICE_ACCOUNTS, { metadata: account });
    await client.create(ROLES, {
      metadata: account,
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    });
    await client.create(ROLE_BINDINGS, {
      metadata: account,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    });
    const pod = await until(
      await run({ serviceAccountName: 'reader', automountServiceAccountToken: true }),
      'to run',
      isReady,
    );
    const kubeconfigPath = join(folder, 'node', 'pods', pod.metadata.uid ?? '', 'kubeconfig');
    const reader = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
    expect(reader.connection.namespace).toBe('here');
    await waitFor(() => reader.get(CONFIG_MAPS, { namespace: 'here', name: 'settings' }), {
      timeoutMs: 5_000,
    });
    await expect(reader.get(SECRETS, { namespace: 'here', name: 'late' })).rejects.toThrow(/forbidden/);
    await reader.close();
    await remove(pod);
  });

  it('resumes pods after a stop by their restart policy, on the same ports and in one copy', async () => {
    const always = await until(await run({}), 'to run', isReady);
    const never = await until(await run({ restartPolicy: 'Never' }), 'to run', isReady);
    const deleted = await until(await run({}), 'to run', isReady);
    const before = [always, never, deleted].map(processOf);
    await node.stop();
    expect(before.map(isRunning)).toEqual([false, false, false]);
    await client.delete(PODS, { namespace: 'here', name: deleted.metadata.name }, { gracePeriodSeconds: 0 });

    node = await start();
    const again = await until(always, 'to run again', (now) => isReady(now) && main(now)?.restartCount === 1);
    expect(portOf(again)).toBe(portOf(always));
    expect(main(again)?.lastState?.terminated?.exitCode).toBe(143);
    const lost = await until(never, 'to have failed', ({ status }) => status?.phase === 'Failed');
    expect(lost.status?.reason).toBe('NodeShutdown');
    expect(readdirSync(join(folder, 'node', 'pods'))).not.toContain(deleted.metadata.uid);
    await Promise.all([remove(always), remove(never)]);
  });
});
