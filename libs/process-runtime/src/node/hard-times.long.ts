import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { endProcess, findProcess, isRunning, type ProcessIdentity } from '#lib/process-identity';
import {
  ANNOTATION,
  EVENTS,
  NAMESPACES,
  type Pod,
  type PodContainer,
  PODS,
  type PodSpec,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { isPortFree } from '#lib/held-sockets';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { certificates } from '../testdata/certificates.js';
import { mainOf } from '../testdata/pod-desk.js';
import { type NodeOptions, startNode, type RunningNode } from './start-node.js';

const PROGRAM = join(import.meta.dirname, '..', 'testdata', 'program.mjs');

/** The way to the API server, which can be cut. */
class Way {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #isCut = false;

  constructor(target: number) {
    this.#server = createServer((near) => {
      if (this.#isCut) return void near.destroy();
      const far = connect(target, '127.0.0.1');
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => (near.destroy(), far.destroy()));
      }
      near.pipe(far).pipe(near);
    });
  }

  async open(): Promise<number> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut(true);
    this.#server.close();
  }
}

describe('a node under failures', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  const image = join(folder, 'image');
  let client: KubeClient;
  let way: Way;
  let node: RunningNode;
  let made = 0;

  const start = async (more: Partial<NodeOptions> = {}): Promise<RunningNode> => {
    const direct = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    const connection = { ...direct, server: `https://127.0.0.1:${port}` };
    return startNode({
      connection,
      folder: join(folder, 'node'),
      images: {
        resolve: async (reference) =>
          Promise.resolve(reference === 'test/program' ? { folder: image, entryPoint: PROGRAM } : undefined),
      },
      serving: await certificates(),
      port: 0,
      version: '0.0.0',
      log: createLogger('test', process.env.TEST_LOG ?? 'silent'),
      stopGraceMs: 2_000,
      ...more,
    });
  };
  let port = 0;

  beforeAll(async () => {
    mkdirSync(image);
    const direct = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    way = new Way(Number(new URL(direct.server).port));
    port = await way.open();
    client = new KubeClient(direct, { fieldManager: 'test' });
    await client.create(NAMESPACES, { metadata: { name: 'here' } });
    await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: 'here', name: 'default' } });
    node = await start();
  });

  afterAll(async () => {
    await node?.stop();
    way?.close();
    await client?.close();
  });

  const run = (container: Partial<PodContainer>, spec: Partial<PodSpec> = {}): Promise<Pod> =>
    client.create(PODS, {
      metadata: { namespace: 'here', name: `pod-${++made}` },
      spec: {
        nodeName: node.nodeName,
        automountServiceAccountToken: false,
        ...spec,
        containers: [{ name: 'main', image: 'test/program', ports: [{ containerPort: 8000 }], ...container }],
      },
    });

  const until = (pod: Pod, what: string, test: (pod: Pod) => boolean | undefined): Promise<Pod> =>
    waitFor(
      async () => {
        const now = await client.get(PODS, { namespace: 'here', name: pod.metadata.name });
        if (test(now)) return now;
        throw new Error(JSON.stringify(now.status));
      },
      { what: `${pod.metadata.name} ${what}` },
    );

  const isReady = ({ status }: Pod): boolean | undefined =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');

  const portOf = ({ metadata }: Pod): number =>
    (JSON.parse(metadata.annotations?.[ANNOTATION.loopbackPorts] ?? '{}') as Record<string, number>)[8000] ??
    0;

  const gone = (pod: Pod): Promise<unknown> =>
    waitFor(async () => !(await client.find(PODS, { namespace: 'here', name: pod.metadata.name })), {
      what: `${pod.metadata.name} to be deleted`,
    });

  const remove = async (pod: Pod, gracePeriodSeconds = 1): Promise<void> => {
    await client.delete(PODS, { namespace: 'here', name: pod.metadata.name }, { gracePeriodSeconds });
    await gone(pod);
  };

  const eventsOf = async (pod: Pod): Promise<readonly string[]> => {
    const { items } = await client.list(EVENTS, { namespace: 'here' });
    return items
      .filter(({ involvedObject }) => involvedObject?.uid === pod.metadata.uid)
      .map(({ reason, message }) => `${reason}: ${message}`);
  };

  const processIn = (file: string): Promise<ProcessIdentity> =>
    waitFor(() => findProcess(Number(readFileSync(file, 'utf8').trim())));

  const ended = (process: ProcessIdentity): Promise<unknown> =>
    waitFor(() => !isRunning(process), { what: `process ${process.pid} to end` });

  it('ends processes that a container started in another process group', async () => {
    const file = join(folder, 'daemon.pid');
    const daemon = `setsid sh -c 'echo $$$$ > ${file}; exec sleep 1000' & sleep 1000`;
    const pod = await until(await run({ command: ['sh', '-c', daemon] }), 'to run', isReady);
    const process = await processIn(file);
    await remove(pod);
    await ended(process);
  });

  it('ends processes of a failed attempt before the next attempt', async () => {
    const file = join(folder, 'left.pid');
    const script = `[ -e ${file} ] && exec sleep 1000; setsid sh -c 'echo $$$$ > ${file}; exec sleep 1000' & while [ ! -s ${file} ]; do sleep 0.1; done; exit 1`;
    const pod = await run({ command: ['sh', '-c', script] });
    await until(pod, 'to be started again', (now) => now.status?.containerStatuses?.[0]?.restartCount === 1);
    expect(findProcess(Number(readFileSync(file, 'utf8').trim()))).toBeUndefined();
    await remove(pod);
  });

  it('ends every process of an exec probe with the probe', async () => {
    const file = join(folder, 'probe.pid');
    const command = ['sh', '-c', `sleep 1000 & [ -e ${file} ] || echo $! > ${file}; wait`];
    const pod = await run({ readinessProbe: { exec: { command }, timeoutSeconds: 1, periodSeconds: 60 } });
    await ended(await processIn(file));
    await remove(pod);
  });

  it('reports a crash loop and a failed probe in the words of the kubelet', async () => {
    const looping = await run({ env: [{ name: 'EXIT_CODE', value: '3' }] });
    const { uid, name } = looping.metadata;
    const waiting = await until(
      looping,
      'to back off',
      (now) => now.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(waiting.status?.containerStatuses?.[0]?.restartCount).toBe(0); // not yet
    expect(waiting.status?.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
      new RegExp(`^back-off \\d+s restarting failed container=main pod=${name}_here\\(${uid}\\)$`),
    );
    const sick = await run(
      { livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 } },
      { terminationGracePeriodSeconds: 1 },
    );
    await until(sick, 'to be restarted', (now) => now.status?.containerStatuses?.[0]?.restartCount === 1);
    await waitFor(async () => {
      expect(await eventsOf(looping)).toContain(
        `BackOff: Back-off restarting failed container main in pod ${name}_here(${uid})`,
      );
      expect(await eventsOf(sick)).toContain(
        'Killing: Container main failed liveness probe, will be restarted',
      );
      return true;
    });
    await Promise.all([remove(looping), remove(sick)]);
  });

  it('moves a container to another port when its port was taken while it was down', async () => {
    const hold = join(folder, 'hold'); // while it exists, every attempt fails
    const script = `[ -e ${hold} ] && exit 1; exec ${process.execPath} ${PROGRAM}`;
    const readinessProbe = { tcpSocket: { port: 8000 }, periodSeconds: 1 };
    const pod = await until(
      await run({ command: ['sh', '-c', script], readinessProbe }),
      'to be ready',
      isReady,
    );
    const note = join(folder, 'node', 'pods', pod.metadata.uid ?? '', 'main.process.json');
    writeFileSync(hold, '');
    process.kill((JSON.parse(readFileSync(note, 'utf8')) as ProcessIdentity).pid, 'SIGKILL');
    const squatter = createServer();
    await waitFor(
      () =>
        new Promise<boolean>((resolve) => {
          squatter.once('error', () => resolve(false));
          squatter.listen(portOf(pod), '127.0.0.1', () => resolve(true));
        }),
    );
    rmSync(hold);
    const moved = await until(
      pod,
      'to be ready elsewhere',
      (now) => isReady(now) && portOf(now) !== portOf(pod),
    );
    expect(moved.status?.containerStatuses?.[0]?.restartCount).toBeGreaterThan(0);
    squatter.close();
    await remove(pod);
  });

  it('holds the port of a container that runs a program of the platform while it is down', async () => {
    const readinessProbe = { httpGet: { path: '/', port: 8000 }, periodSeconds: 1 };
    const pod = await until(await run({ readinessProbe }), 'to be ready', isReady);
    const port = portOf(pod);
    const note = join(folder, 'node', 'pods', pod.metadata.uid ?? '', 'main.process.json');
    const before = JSON.parse(readFileSync(note, 'utf8')) as ProcessIdentity;
    process.kill(before.pid, 'SIGKILL');
    await waitFor(() => !isRunning(before));
    const squatter = createServer();
    const [trouble] = (await Promise.race([
      once(squatter.listen(port, '127.0.0.1'), 'listening'),
      new Promise((resolve) => squatter.once('error', (error) => resolve([error]))),
    ])) as [NodeJS.ErrnoException | undefined];
    squatter.close();
    expect(trouble?.code).toBe('EADDRINUSE');
    // asked while nothing runs, answered by the next attempt
    const answer = await fetch(`http://127.0.0.1:${port}/environment`);
    expect(await answer.json()).toMatchObject({ PORT: String(port) });
    const again = await until(
      pod,
      'to be ready again',
      (now) => mainOf(now)?.restartCount === 1 && isReady(now),
    );
    expect(portOf(again)).toBe(port);
    await remove(pod);
    await waitFor(() => isPortFree(port), { what: `port ${port} to be given back` });
  });

  it('starts no process that it cannot record, and resumes once it can', async () => {
    const name = `pod-${++made}`;
    const file = join(folder, 'unnoted.pid');
    const script = `echo $$$$ > ${file}; exec sleep 1000`;
    const pod = await client.create(PODS, {
      metadata: { namespace: 'here', name },
      spec: {
        automountServiceAccountToken: false,
        containers: [{ name: 'main', image: 'test/program', command: ['sh', '-c', script] }],
      },
    });
    const note = join(folder, 'node', 'pods', pod.metadata.uid ?? '', 'main.process.json.new');
    mkdirSync(note, { recursive: true }); // as good as a full disk: nothing can be written there
    await client.createSubresource(PODS, { namespace: 'here', name }, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name },
      target: { kind: 'Node', name: node.nodeName },
    });
    const failed = await until(
      pod,
      'to fail twice',
      (now) => (now.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 2,
    );
    expect(failed.status?.containerStatuses?.[0]?.lastState?.terminated?.reason).toBe('StartError');
    if (existsSync(file)) expect(findProcess(Number(readFileSync(file, 'utf8').trim()))).toBeUndefined();
    rmSync(note, { recursive: true });
    await until(pod, 'to run', isReady);
    await remove(pod);
  });

  it('starts beside foreign files and a process that does not end, and stops while the API server is unavailable', async () => {
    const stubborn = {
      env: [{ name: 'IGNORE_TERM', value: 'yes' }],
      readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
    };
    const pod = await until(await run(stubborn), 'to be ready', isReady);
    const other = await until(await run({}), 'to be ready', isReady);
    const podFolder = join(folder, 'node', 'pods', pod.metadata.uid ?? '');
    const text = readFileSync(join(podFolder, 'main.process.json'), 'utf8');
    const process = JSON.parse(text) as ProcessIdentity;
    await client.delete(PODS, { namespace: 'here', name: pod.metadata.name }, { gracePeriodSeconds: 3 });
    await waitFor(() => readFileSync(join(podFolder, 'logs', 'main', '0.log'), 'utf8').includes('not yet'));
    way.cut(true);
    await ended(process);
    await node.stop();
    way.cut(false);
    writeFileSync(join(folder, 'node', 'pods', '.DS_Store'), '');
    const stray = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const record = join(folder, 'node', 'pods', other.metadata.uid ?? '', 'main.process.json');
    writeFileSync(record, JSON.stringify(findProcess(stray.pid ?? 0)));
    node = await start({
      endStray: (identity, options) =>
        identity.pid === stray.pid
          ? Promise.reject(new Error('it still exists'))
          : endProcess(identity, options),
    });
    await gone(pod);
    // no second copy of what still runs
    await waitFor(async () =>
      (await eventsOf(other)).some(
        (line) => /^ProcessesLeft: .*\((\d+)\)/.exec(line)?.[1] === String(stray.pid),
      ),
    );
    expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({ pid: stray.pid });
    stray.kill('SIGKILL');
    await until(other, 'to run again', isReady);
    await remove(other);
  });
});
