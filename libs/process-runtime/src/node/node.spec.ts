import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { findProcess, isRunning } from '#lib/process-identity';
import { API_SERVERS, temporaryFolder, waitFor } from '#lib/testing';
import {
  CONFIG_MAPS,
  CPU_LIMITS_KEPT,
  LEASES,
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
import { isReady, mainOf, PodDesk, portOf } from '../testdata/pod-desk.js';

/** Everything is done by hand here that a scheduler and controllers would do: pods are bound as they are made. */
describe.each(API_SERVERS)('a node on $name', ({ home }) => {
  const server = home();
  const folder = temporaryFolder();
  let desk: PodDesk;
  let client: KubeClient;

  beforeAll(async () => {
    desk = new PodDesk(server.kubeconfigPath, folder);
    await desk.open('here');
    client = desk.client;
  });

  afterAll(async () => {
    await desk?.close();
  });

  interface PodOptions extends Partial<PodSpec> {
    readonly env?: Readonly<Record<string, string>>;
    readonly container?: Partial<PodContainer>;
  }

  const run = ({ env = {}, container = {}, ...spec }: PodOptions): Promise<Pod> => {
    const given = Object.entries(env).map(([name, value]) => ({ name, value }));
    const ports = [{ name: 'http', containerPort: 8000 }];
    const whole = { ports, ...container, env: [...given, ...(container.env ?? [])] };
    return desk.run('here', whole, { restartPolicy: 'Always', ...spec });
  };
  const until: PodDesk['until'] = (...args) => desk.until(...args);
  const remove: PodDesk['remove'] = (...args) => desk.remove(...args);
  const read = (pod: Pod): Promise<Pod> => client.get(PODS, { namespace: 'here', name: pod.metadata.name });

  it('registers itself and its lease', async () => {
    const found = await client.get(NODES, { name: desk.node.nodeName });
    expect(found.metadata.labels?.['agentplane.dev/runtime']).toBe('process');
    expect(Number(found.status?.capacity?.cpu)).toBeGreaterThanOrEqual(4);
    expect(found.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True');
    const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
    expect(found.status?.conditions?.find(({ type }) => type === 'PodsRunAsRoot')?.message).toEqual(
      isRoot
        ? expect.stringMatching(/^pods run as root and can read everything here: .*switched off/)
        : undefined,
    );
    const lease = await client.get(LEASES, { namespace: 'kube-node-lease', name: desk.node.nodeName });
    expect(lease.spec).toMatchObject({ holderIdentity: desk.node.nodeName, leaseDurationSeconds: 40 });
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
    expect([pod, other].map((one) => desk.node.servingPortsOf(one))).toEqual([
      { '8000': portOf(pod) },
      undefined,
    ]);
    expect(mainOf(pod)).toMatchObject({
      name: 'main',
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: {} },
    });
    expect(await (await fetch(`http://127.0.0.1:${portOf(pod)}/ok`)).text()).toBe('ok');
    const record = desk.processOf(pod);
    expect(isRunning(record)).toBe(true);
    await remove(pod);
    expect(isRunning(record)).toBe(false);
    await waitFor(() => !existsSync(desk.podFolder(pod)));
  });

  it('reports a pod as ready to the proxy before the API server knows it', async () => {
    const told = new Map<string, boolean>();
    desk.node.onServing((pod) => {
      const { name } = pod.metadata;
      if (!told.has(name)) told.set(name, isReady(pod) === true || !desk.node.servingPortsOf(pod));
    });
    const pod = await until(
      await run({
        container: { readinessProbe: { httpGet: { path: '/ok', port: 'http' }, periodSeconds: 5 } },
      }),
      'to be ready',
      isReady,
    );
    expect(told.get(pod.metadata.name)).toBe(false);
    await remove(pod);
    expect(desk.node.servingPortsOf(pod)).toBeUndefined();
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
      (now) => mainOf(now)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(mainOf(waiting)?.state?.waiting?.message).toBe('Secret late has no key password');
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
      cwd: desk.image,
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
    const { pid } = desk.processOf(pod);
    const { status } = await client.get(NODES, { name: desk.node.nodeName });
    const kept = status?.conditions?.find(({ type }) => type === CPU_LIMITS_KEPT);
    if (kept?.status === 'True')
      expect(readFileSync(`/proc/${pid}/cgroup`, 'utf8')).toMatch(
        new RegExp(`/agentplane-${desk.node.nodeName}/[0-9a-f-]{36}$`, 'm'),
      );
    else {
      expect(kept).toMatchObject({ status: 'False', reason: 'NoControlGroups' });
      expect(getPriority(pid)).toBe(10);
    }
    await remove(pod, { gracePeriodSeconds: 0 });
  });

  it('reports ErrImageNeverPull for an image that does not exist', async () => {
    const pod = await run({ container: { image: 'local/unknown' } });
    const waiting = await until(
      pod,
      'to say so',
      (now) => mainOf(now)?.state?.waiting?.reason === 'ErrImageNeverPull',
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
      expect(mainOf(over)?.state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
      await remove(pod);
    }
  });

  it('restarts a failed container and keeps its log', async () => {
    const pod = await run({ env: { EXIT_CODE: '78', MESSAGE: '{"reason":"GraphLoadFailed"}' } });
    const looping = await until(pod, 'to crash twice', (now) => (mainOf(now)?.restartCount ?? 0) >= 2);
    expect(mainOf(looping)?.lastState?.terminated).toMatchObject({
      exitCode: 78,
      reason: 'Error',
      message: '{"reason":"GraphLoadFailed"}',
    });
    await until(pod, 'to back off', (now) => mainOf(now)?.state?.waiting?.reason === 'CrashLoopBackOff');
    expect((await read(pod)).status?.phase).toBe('Running');
    await remove(pod);
  });

  it.each([
    ['0', 'Succeeded', 'Completed'],
    ['3', 'Failed', 'Error'],
  ])('reports a pod that is never restarted and exits with %s as %s', async (code, phase, reason) => {
    const pod = await run({ restartPolicy: 'Never', env: { EXIT_CODE: code } });
    const over = await until(pod, phase, ({ status }) => status?.phase === phase);
    expect(mainOf(over)).toMatchObject({
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
    await until(pod, 'to be restarted', (now) => mainOf(now)?.restartCount === 1);
    writeFileSync(health, '');
    const again = await until(
      pod,
      'to be ready again',
      (now) => isReady(now) && mainOf(now)?.restartCount === 1,
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
    const record = desk.processOf(running);
    const before = performance.now();
    await remove(pod, { gracePeriodSeconds: 1 });
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
    const kubeconfigPath = join(desk.podFolder(pod), 'kubeconfig');
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
    const before = [always, never, deleted].map((pod) => desk.processOf(pod));
    await desk.stopNode();
    expect(before.map(isRunning)).toEqual([false, false, false]);
    await client.delete(PODS, { namespace: 'here', name: deleted.metadata.name }, { gracePeriodSeconds: 0 });

    await desk.startNode();
    const again = await until(
      always,
      'to run again',
      (now) => isReady(now) && mainOf(now)?.restartCount === 1,
    );
    expect(portOf(again)).toBe(portOf(always));
    expect(mainOf(again)?.lastState?.terminated?.exitCode).toBe(143);
    const lost = await until(never, 'to have failed', ({ status }) => status?.phase === 'Failed');
    expect(lost.status?.reason).toBe('NodeShutdown');
    expect(readdirSync(join(folder, 'node', 'pods'))).not.toContain(deleted.metadata.uid);
    await Promise.all([remove(always), remove(never)]);
  });
});
