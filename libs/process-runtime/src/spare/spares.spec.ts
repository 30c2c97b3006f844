import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SPARE } from '#lib/lifecycle';
import { type Pod, type PodContainer } from '#lib/resources';
import { metrics } from '#lib/telemetry';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { processNumbers, statusOf, textOf } from '../strays/process-status.js';
import { mainOf, PodDesk, portOf } from '../testdata/pod-desk.js';

const PROGRAM = join(import.meta.dirname, '..', 'testdata', 'spare-program.mjs');
const FIRST = 60_950;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

interface Facts {
  readonly isSpare: boolean;
  readonly root: string;
  readonly threads: readonly string[];
  readonly descriptors: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Processes of the node that wait, or once waited, as a spare. */
function spares(): readonly number[] {
  return processNumbers().filter(
    (pid) =>
      statusOf(pid)?.parent === process.pid && textOf(`/proc/${pid}/cmdline`).split('\0').includes(SPARE),
  );
}

describe('a spare process', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  /** Namespaces with a spare. */
  const taught = new Set<string>();
  let desk: PodDesk;

  const start = (
    namespace: string,
    env: Readonly<Record<string, string>> = {},
    more: Partial<PodContainer> = {},
  ) =>
    desk.run(
      namespace,
      {
        image: 'test/sparable',
        ports: [{ name: 'http', containerPort: 8000 }],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
        securityContext: { allowPrivilegeEscalation: false },
        ...more,
      },
      { restartPolicy: 'Always' },
    );
  const factsOf = (pod: Pod): Promise<Facts> =>
    waitFor(async () => {
      const { name, namespace = '' } = pod.metadata;
      const now = await desk.until(pod, 'to run', ({ status }) => status?.phase === 'Running');
      expect([name, namespace]).toEqual([now.metadata.name, now.metadata.namespace]);
      return (await (await fetch(`http://127.0.0.1:${portOf(now)}`)).json()) as Facts;
    });
  async function allReady(): Promise<void> {
    await waitFor(async () => ((await metrics.nodeSpares.samples())[0]?.value ?? 0) === taught.size);
  }
  /** One start teaches the node what the spares of a namespace are. */
  async function spareOf(namespace: string): Promise<number> {
    await allReady();
    const before = spares();
    const first = await start(namespace);
    await factsOf(first);
    await desk.remove(first);
    taught.add(namespace);
    await allReady();
    return spares().find((pid) => !before.includes(pid)) ?? 0;
  }
  const pidOf = (pod: Pod): number => desk.processOf(pod).pid;

  beforeAll(async () => {
    chmodSync(folder, 0o711);
    desk = new PodDesk(server.kubeconfigPath, folder, {
      spares: 1,
      users: { ranges: isRoot ? [{ first: FIRST, last: FIRST + 19 }] : [], programs: [] },
      images: {
        resolve: (reference) =>
          Promise.resolve(
            reference === 'test/sparable'
              ? { folder: desk.image, entryPoint: PROGRAM, hasSpares: true }
              : undefined,
          ),
      },
    });
    await desk.open('red', 'blue', 'green', 'grey', 'gone');
  });
  afterAll(() => desk.close());

  it('becomes the container of a pod, with its variables, folder, port, output and user, and no way back', async () => {
    const spare = await spareOf('red');
    const environ = readFileSync(`/proc/${spare}/environ`, 'utf8');
    const pod = await start('red', { RED_SECRET: 'of red' });
    const facts = await factsOf(pod);
    expect(pidOf(pod)).toBe(spare);
    expect(facts).toMatchObject({ isSpare: true, cwd: desk.image });
    expect(facts.environment).toMatchObject({ RED_SECRET: 'of red', AGENTPLANE_POD_UID: pod.metadata.uid });
    const names = environ.split('\0').map((one) => one.split('=')[0]);
    expect(names.filter((name) => name && !/^(NODE_|SSL_|LANG|LC_)/.test(name)).sort()).toEqual([
      'AGENTPLANE_ATTEMPT',
      'AGENTPLANE_NODE_PODS',
    ]);
    expect(readFileSync(`/proc/${spare}/environ`, 'utf8')).toBe(environ);
    const log = readFileSync(join(desk.podFolder(pod), 'logs', 'main', '0.log'), 'utf8');
    expect(log).toMatch(/stdout F hello from the program/);
    expect(log).toMatch(/stderr F and from its other stream/);
    if (!isRoot) return;
    const [uid] = statusOf(spare)?.uids ?? [];
    expect(uid).toBeGreaterThanOrEqual(FIRST);
    const none = '0000000000000000';
    const ids = [uid, uid, uid, uid].join('\t');
    expect(facts.root).toBe('refused');
    expect(facts.threads).toEqual([
      `Uid:\t${ids} Gid:\t${ids} Groups:\t  CapInh:\t${none} CapPrm:\t${none} CapEff:\t${none} CapAmb:\t${none} NoNewPrivs:\t1`,
    ]);
  });

  it('has the rights, files and variables of an ordinary start', async () => {
    const spare = await spareOf('green');
    const taken = await start('green', { ONE: '1' });
    const usual = await start('green', { ONE: '1', NODE_PENDING_DEPRECATION: '0' });
    const [one, other] = [await factsOf(taken), await factsOf(usual)];
    expect([pidOf(taken), one.isSpare, other.isSpare]).toEqual([spare, true, false]);
    const own = (facts: Facts, pod: Pod) => ({
      root: facts.root,
      threads: facts.threads,
      cwd: facts.cwd,
      environment: Object.keys(facts.environment)
        .filter((name) => !/^NODE_PENDING|HELD_SOCKETS/.test(name))
        .sort(),
      home: facts.environment.HOME?.replace(pod.metadata.uid ?? '', 'UID'),
      files: facts.descriptors.filter((path) => path.startsWith('/') && !path.startsWith('/proc/')).sort(),
    });
    expect(own(one, taken)).toEqual(own(other, usual));
  });

  it('never becomes a container of another workspace', async () => {
    const spare = await spareOf('blue');
    const pod = await start('grey');
    expect((await factsOf(pod)).isSpare).toBe(false);
    expect(spares()).toContain(spare);
    expect(statusOf(spare)?.uids[0]).toBe(process.getuid?.());
    const own = await start('blue');
    await factsOf(own);
    expect(pidOf(own)).toBe(spare);
  });

  it.each([
    ['was killed before it', undefined],
    ['is killed during the hand-over', 'killed'],
    ['fails during the hand-over', 'failed'],
    ['answers nothing to the hand-over', 'silent'],
  ])('gives way to an ordinary start where it %s', async (_how, fault) => {
    const spare = await spareOf('grey');
    if (fault === undefined) process.kill(spare, 'SIGKILL');
    const pod = await start('grey', {
      GREY_SECRET: 'of grey',
      ...(fault === undefined ? {} : { FAULT: fault }),
    });
    const facts = await factsOf(pod);
    expect(facts.environment).toMatchObject({ GREY_SECRET: 'of grey' });
    // one that ended before is replaced
    if (fault !== undefined) expect(facts.isSpare).toBe(false);
    expect(mainOf(await desk.until(pod, 'to run', () => true))?.restartCount).toBe(0);
    expect(spares()).not.toContain(spare);
    await desk.remove(pod);
  });

  it('counts as a crash of the container where it is killed later', async () => {
    const spare = await spareOf('grey');
    const pod = await start('grey');
    await factsOf(pod);
    process.kill(spare, 'SIGKILL');
    const again = await desk.until(pod, 'to be started again', (now) => mainOf(now)?.restartCount === 1);
    expect(mainOf(again)?.lastState?.terminated?.exitCode).toBe(137);
    await desk.remove(pod);
  });

  it('ends with the exit code, and at the limit of memory, of any container', async () => {
    await spareOf('grey');
    const ending = await start('grey', { EXIT_CODE: '7' });
    const ended = await desk.until(ending, 'to end', (now) => (mainOf(now)?.restartCount ?? 0) > 0);
    expect(mainOf(ended)?.lastState?.terminated?.exitCode).toBe(7);
    await desk.remove(ending);
    const limits = { resources: { limits: { memory: '150Mi' } } };
    const small = await start('grey', {}, limits);
    await factsOf(small);
    await desk.remove(small);
    await allReady();
    const large = await start('grey', { MEGABYTES: '200' }, limits);
    const killed = await desk.until(
      large,
      'to be ended',
      (now) => mainOf(now)?.lastState?.terminated?.reason === 'OOMKilled',
    );
    expect(mainOf(killed)?.lastState?.terminated?.exitCode).toBe(137);
    await desk.remove(large);
  });

  it('ends when its namespace is forgotten', async () => {
    const spare = await spareOf('gone');
    desk.node.forgetSpares('gone');
    taught.delete('gone');
    await waitFor(() => !spares().includes(spare));
  });
});
