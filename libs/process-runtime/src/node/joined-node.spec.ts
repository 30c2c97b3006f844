import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_SERVERS, temporaryFolder, waitFor } from '#lib/testing';
import { NODES, PODS, PROCESS_RUNTIME, PROCESS_RUNTIME_TAINT } from '#lib/resources';
import { PodDesk } from '../testdata/pod-desk.js';
import { ensureNodeIdentity } from './start-node.js';

const FOREIGN_TAINT = { key: 'example.org/maintenance', effect: 'PreferNoSchedule' } as const;

describe.each(API_SERVERS)('a node that joined a cluster, on $name', ({ home }) => {
  const server = home();
  const folder = temporaryFolder();
  let desk: PodDesk;

  beforeAll(async () => {
    desk = new PodDesk(server.kubeconfigPath, folder, { isJoined: true });
    await desk.open('here');
  });
  afterAll(() => desk?.close());

  const node = async () => {
    const [found] = (await desk.client.list(NODES)).items;
    if (!found) throw new Error('no node');
    return found;
  };
  const readiness = async () =>
    (await node()).status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const patch = async (spec: object) =>
    desk.client.merge(NODES, { name: (await node()).metadata.name }, { spec });

  it('has a taint, and takes no pod that does not select its runtime', async () => {
    expect((await node()).spec?.taints).toContainEqual(PROCESS_RUNTIME_TAINT);
    // as a DaemonSet does that tolerates everything
    const foreign = await desk.run('here', {}, { tolerations: [{ operator: 'Exists' }] });
    const refused = await desk.until(foreign, 'to be refused', ({ status }) => status?.phase === 'Failed');
    expect(refused.status?.reason).toBe('NodeAffinity');
    expect(refused.status?.message).toMatch(/does not select agentplane.dev\/runtime=process/);
    expect(refused.status?.containerStatuses ?? []).toEqual([]);
  });

  it('runs a pod that selects its runtime', async () => {
    expect(await desk.shell('here', 'echo ran', { nodeSelector: PROCESS_RUNTIME })).toContain('ran');
  });

  it('cordons itself as soon as it stops, and takes pods again once it starts', async () => {
    await patch({ taints: [FOREIGN_TAINT, PROCESS_RUNTIME_TAINT] });
    // its processes take their grace; the stop does not wait for them
    const pod = await desk.run(
      'here',
      { command: ['sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done'] },
      { nodeSelector: PROCESS_RUNTIME, restartPolicy: 'Always', terminationGracePeriodSeconds: 2 },
    );
    await desk.until(pod, 'to run', ({ status }) => status?.phase === 'Running');
    const stopped = desk.stopNode();
    await waitFor(async () => (await node()).spec?.unschedulable === true, { timeoutMs: 1_500 });
    await waitFor(async () => (await readiness()) === 'False', { timeoutMs: 1_500 });
    await stopped;
    expect(await desk.client.find(PODS, { namespace: 'here', name: pod.metadata.name })).toBeDefined();
    await desk.startNode();
    expect([(await node()).spec?.unschedulable ?? false, await readiness()]).toEqual([false, 'True']);
    expect((await node()).spec?.taints).toEqual(
      expect.arrayContaining([expect.objectContaining(FOREIGN_TAINT), PROCESS_RUNTIME_TAINT]),
    );
    await desk.remove(pod);
  });

  it('stays cordoned through a restart when a person cordoned it', async () => {
    await patch({ unschedulable: true });
    await desk.stopNode();
    await desk.startNode();
    expect((await node()).spec?.unschedulable).toBe(true);
    await patch({ unschedulable: null });
  });

  it('keeps its name and its taint once', async () => {
    expect((await node()).metadata.name).toBe(ensureNodeIdentity(`${folder}/node`).name);
    const own = (await node()).spec?.taints?.filter(({ key }) => key === PROCESS_RUNTIME_TAINT.key);
    expect(own).toHaveLength(1);
  });
});
