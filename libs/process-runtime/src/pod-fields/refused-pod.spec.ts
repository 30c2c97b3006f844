import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder, testEmbeddedKube, waitFor } from '#lib/testing';
import { CONFIG_MAPS, EVENTS, NODES, type Pod, POD_SUPPORTED } from '#lib/resources';
import { mainOf, PodDesk } from '../testdata/pod-desk.js';

const many = <T>(make: (at: number) => T): T[] => Array.from({ length: 300 }, (_, at) => make(at));
const manyFrom = (valueFrom: object): readonly object[] => many((at) => ({ name: `V${at}`, valueFrom }));

describe('a pod that asks for what a process cannot have', () => {
  const server = testEmbeddedKube();
  const folder = temporaryFolder();
  let desk: PodDesk;
  beforeAll(async () => {
    desk = new PodDesk(server.kubeconfigPath, folder);
    await desk.open('here');
  });
  afterAll(() => desk.close());

  const supported = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === POD_SUPPORTED);

  it('stays pending, is never started, and says in a condition and an event what to change', async () => {
    const volumes = [{ name: 'root', hostPath: { path: '/' } }];
    const privileged = { securityContext: { privileged: true }, command: ['sh', '-c', 'exit 3'] };
    const pod = await desk.run('here', privileged, {
      volumes,
      hostNetwork: true,
      restartPolicy: 'Always',
    } as object);
    const refused = await desk.until(pod, 'to be refused', (now) => supported(now)?.status === 'False');
    expect(refused.status?.phase).toBe('Pending');
    const message = supported(refused)?.message ?? '';
    expect(supported(refused)?.reason).toBe('NotSupported');
    expect(message).toMatch(/spec\.volumes\[0\]\.hostPath is \{"path":"\/".*\}: .*run it on a cluster/);
    expect(message).toMatch(/spec\.hostNetwork is true: drop it/);
    expect(message).toMatch(/spec\.containers\[0\]\.securityContext\.privileged is true: drop it/);
    expect(mainOf(refused)).toMatchObject({
      restartCount: 0,
      state: { waiting: { reason: 'CreateContainerConfigError', message } },
    });
    const event = await waitFor(async () => {
      const { items } = await desk.client.list(EVENTS, { namespace: 'here' });
      return items.find(({ reason }) => reason === 'NotSupported');
    });
    expect(event).toMatchObject({ type: 'Warning', message });
    await desk.remove(pod);
  });

  it('fails when its policy lets it end, so that a Job learns of it', async () => {
    const pod = await desk.run('here', {}, { hostPID: true } as object);
    const refused = await desk.until(pod, 'to fail', ({ status }) => status?.phase === 'Failed');
    expect(refused.status).toMatchObject({ reason: 'NotSupported' });
    expect(refused.status?.message).toMatch(/spec\.hostPID is true/);
    await desk.remove(pod);
  });

  it('stays refused, and can be deleted, after the node was started again', async () => {
    const pod = await desk.run('here', {}, { hostIPC: true, restartPolicy: 'Always' } as object);
    await desk.until(pod, 'to be refused', (now) => supported(now)?.status === 'False');
    await desk.stopNode();
    await desk.startNode();
    const still = await desk.until(pod, 'to be refused', (now) => supported(now)?.status === 'False');
    expect(mainOf(still)?.state?.waiting?.reason).toBe('CreateContainerConfigError');
    await desk.remove(pod);
  });

  it('waits, while the node goes on, when its variables expand to more text than there is memory', async () => {
    const env = Array.from({ length: 40 }, (_, at) => ({
      name: `V${at}`,
      value: at === 0 ? 'x'.repeat(1_000) : `$(V${at - 1})$(V${at - 1})`,
    }));
    const pod = await desk.run('here', { env }, { restartPolicy: 'Always' } as object);
    const waiting = await desk.until(
      pod,
      'to wait',
      (now) => mainOf(now)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(mainOf(waiting)?.state?.waiting?.message).toMatch(/more text than a process can be given/);
    await desk.remove(pod);
  });

  it.each([
    ['one key for many variables', { env: manyFrom({ configMapKeyRef: { name: 'large', key: 'key' } }) }],
    [
      'many ConfigMaps for one container',
      { envFrom: many((at) => ({ prefix: `P${at}_`, configMapRef: { name: 'large' } })) },
    ],
  ])('waits, while the node goes on, when it names %s', async (_name, container) => {
    const metadata = { namespace: 'here', name: 'large' };
    if (!(await desk.client.find(CONFIG_MAPS, metadata)))
      await desk.client.create(CONFIG_MAPS, { metadata, data: { key: 'x'.repeat(100_000) } });
    const command = ['sleep', '60'];
    const pod = await desk.run(
      'here',
      { command, ...container } as object,
      { restartPolicy: 'Always' } as object,
    );
    const waiting = await desk.until(
      pod,
      'to wait',
      (now) => mainOf(now)?.state?.waiting?.message !== undefined,
    );
    expect(mainOf(waiting)?.state?.waiting).toMatchObject({
      reason: 'CreateContainerConfigError',
      message: expect.stringMatching(/^variable \w+ and before make more text than a process can be given/),
    });
    await desk.remove(pod);
  });

  it('fails beyond what the machine offers, in the words of a kubelet, and leaves the room to others', async () => {
    const asking = (requests: Record<string, string>, spec: Partial<Pod['spec']> & object = {}) =>
      desk.run('here', { command: ['sleep', '60'], resources: { requests } }, spec);
    const failed = ({ status }: Pod) => status?.phase === 'Failed';
    const huge = await asking({ cpu: '1000' }, { restartPolicy: 'Always' });
    const { status } = await desk.until(huge, 'to fail', failed);
    expect([status?.reason, status?.containerStatuses]).toEqual(['OutOfcpu', undefined]);
    expect(status?.message).toMatch(
      /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: 0, capacity: \d+$/,
    );
    const wide = await desk.until(await asking({ memory: '1Ei' }), 'to fail', failed);
    expect(wide.status?.reason).toBe('OutOfmemory');

    const [node] = (await desk.client.list(NODES)).items;
    const cpu = node?.status?.allocatable?.['cpu'] ?? '';
    const all = await asking({ cpu }, { restartPolicy: 'Always' });
    await desk.until(all, 'to run', (now) => now.status?.phase === 'Running');
    await desk.stopNode();
    const late = await asking({ cpu: '100m' }, { nodeName: node?.metadata.name ?? '' });
    await desk.startNode();
    expect((await desk.until(late, 'to fail', failed)).status?.reason).toBe('OutOfcpu');
    await desk.until(all, 'to run again', (now) => mainOf(now)?.state?.running !== undefined);
    await desk.remove(all);
    const next = await asking({ cpu: '100m' });
    await desk.until(next, 'to run', (now) => now.status?.phase === 'Running');
    for (const pod of [huge, wide, late, next]) await desk.remove(pod);
  });
});
