import { waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import { DEPLOYMENTS } from '#lib/resources';
import { at, GRAPH_FAILS, testRollouts } from './rollout-plane.js';

describe('a rollback', () => {
  const rollouts = testRollouts();

  it('rolls back to a warm revision without a new Deployment', async () => {
    await rollouts.restartListener({ standbyWarmMs: 60_000 });
    await rollouts.deploy('back');
    await rollouts.serve('back', 1);
    await rollouts.change('back', 2);
    await rollouts.serve('back', 2);
    const [before] = await rollouts.plane.podsOf('back-00001');
    await rollouts.rollBack('back', 1, 3);
    await waitFor(async () => (await rollouts.target('back'))[0] === 'back-00003');
    expect(await rollouts.target('back')).toEqual(['back-00003', 'back-00001']);
    const { spec, status } = await rollouts
      .saying('back-00003', 'Ready', 'Serving')
      .then(() => rollouts.revision('back-00003'));
    expect([spec.redeployOf, status?.workload, status?.image]).toEqual([
      'back-00001',
      'back-00001',
      'example.org/agent:1',
    ]);
    // the very same pod, which never stopped
    expect((await rollouts.plane.podsOf('back-00001')).map(({ metadata }) => metadata.name)).toEqual([
      before?.metadata.name,
    ]);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 1']);
  });

  it('rolls back to a revision at zero pods on the Deployment that was kept', async () => {
    await rollouts.restartListener();
    await waitFor(async () => (await rollouts.plane.podsOf('back-00002')).length === 0);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 1', 'back-00002: 0']);
    await rollouts.rollBack('back', 2, 4);
    await rollouts.plane.report('back-00002', { ready: true });
    await waitFor(async () => (await rollouts.target('back'))[0] === 'back-00004');
    expect(await rollouts.target('back')).toEqual(['back-00004', 'back-00002']);
    await waitFor(async () => (await rollouts.plane.podsOf('back-00001')).length === 0);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it('keeps the Deployment of a rollback that fails', async () => {
    await rollouts.rollBack('back', 1, 5);
    await rollouts.plane.report('back-00001', GRAPH_FAILS);
    await rollouts.saying('back-00005', 'Failed', 'GraphLoadFailed');
    await waitFor(async () => (await rollouts.plane.podsOf('back-00001')).length === 0);
    expect(await rollouts.target('back')).toEqual(['back-00004', 'back-00002']);
    expect(await rollouts.deploymentsOf('back')).toEqual(['back-00001: 0', 'back-00002: 1']);
  });

  it('runs the image that a tag was, and not what it has become', async () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const pinned = `example.org/agent@${digest}`;
    const imageOf = async (name: string) =>
      (await rollouts.plane.client.get(DEPLOYMENTS, at(name))).spec.template.spec.containers[0]?.image;
    await rollouts.deploy('tagged');
    await rollouts.plane.report('tagged-00001', { ready: true, imageID: pinned });
    await waitFor(async () => (await rollouts.revision('tagged-00001')).status?.pinnedImage === pinned);
    const [pod] = await rollouts.plane.podsOf('tagged-00001');
    // to run a digest in its place, the pod would be replaced
    expect(await imageOf('tagged-00001')).toBe('example.org/agent:1');
    await rollouts.suspend('tagged', true);
    await waitFor(async () => (await rollouts.plane.podsOf('tagged-00001')).length === 0);
    await rollouts.suspend('tagged', false);
    const [next] = await waitFor(async () => {
      const pods = await rollouts.plane.podsOf('tagged-00001');
      return pods.length > 0 && pods;
    });
    expect(next?.metadata.name).not.toBe(pod?.metadata.name);
    expect(next?.spec.containers[0]?.image).toBe(pinned);
    await rollouts.plane.report('tagged-00001', { ready: true, imageID: pinned });
    await rollouts.change('tagged', 2);
    await rollouts.serve('tagged', 2);
    await rollouts.rollBack('tagged', 1, 3);
    await waitFor(async () => (await rollouts.revision('tagged-00003')).status?.image === pinned);
  });

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
