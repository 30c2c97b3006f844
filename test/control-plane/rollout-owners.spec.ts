import { waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import { DEPLOYMENTS, findCondition, RESOURCES, SECRETS, SERVICES } from '#lib/resources';
import { at, testRollouts } from './rollout-plane.js';

describe('names that others have or had', () => {
  const rollouts = testRollouts();

  it.each([
    ['Service', 'taken-a', SERVICES, { spec: { ports: [{ port: 1 }] } }],
    [
      'Deployment',
      'taken-b-00001',
      DEPLOYMENTS,
      {
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    ],
  ])('leaves a %s of another owner alone, and reports it', async (_, name, ref, body) => {
    const made = await rollouts.plane.client.create(
      ref as typeof SERVICES,
      { metadata: at(name), ...body } as never,
    );
    const deployment = name.replace(/-00001$/, '');
    await rollouts.deploy(deployment);
    if (name === deployment) await rollouts.plane.report(`${deployment}-00001`, { ready: true });
    await rollouts.saying(`${deployment}-00001`, 'Ready', 'NotOurs');
    const { metadata, spec } = await rollouts.plane.client.get(ref as typeof SERVICES, at(name));
    expect([metadata.labels, metadata.ownerReferences, spec]).toEqual([undefined, undefined, made.spec]);
  });

  it('makes a deployment of the same name anew, whatever is left of the former one', async () => {
    await rollouts.deploy('anew');
    await rollouts.serve('anew', 1);
    const first = await rollouts.revision('anew-00001');
    const hold = (finalizers: string[]) =>
      rollouts.plane.client.merge(SERVICES, at('anew'), { metadata: { finalizers } });
    const holdKey = (finalizers: string[]) =>
      rollouts.plane.client.merge(SECRETS, at('anew-platform'), { metadata: { finalizers } });
    await hold(['test.dev/hold']);
    await holdKey(['test.dev/hold']);
    await rollouts.plane.client.delete(RESOURCES.AgentDeployment, at('anew'));
    await waitFor(
      async () => (await rollouts.plane.client.find(RESOURCES.AgentDeployment, at('anew'))) === undefined,
    );
    await rollouts.deploy('anew');
    // a key that was taken back makes no revision
    const progress = async () =>
      findCondition(
        (await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('anew'))).status?.conditions,
        'DatabaseReady',
      );
    await waitFor(async () => (await progress())?.reason === 'Deleting');
    expect(await rollouts.revisions('anew')).toEqual([]);
    await holdKey([]);
    // the Service points to a revision of this name, and that is another one
    await rollouts.saying('anew-00001', 'WorkloadsReady', 'Deploying');
    expect(await rollouts.said('anew-00001')).not.toContain('NotOurs');
    await rollouts.plane.report('anew-00001', { ready: true });
    await rollouts.saying('anew-00001', 'Ready', 'NotOurs');
    await hold([]);
    await rollouts.saying('anew-00001', 'Ready', 'Serving');
    expect((await rollouts.revision('anew-00001')).metadata.uid).not.toBe(first.metadata.uid);
    expect(await rollouts.revisions('anew')).toHaveLength(1);
  });

  it('reports by a deployment that its Listener was deleted', async () => {
    await rollouts.plane.client.create(RESOURCES.Listener, {
      metadata: at('gone'),
      spec: { computeType: 'cluster', computeId: 'elsewhere' },
    });
    await rollouts.deploy('untended', { listenerRef: { name: 'gone' } });
    await waitFor(async () => (await rollouts.revisions('untended')).length === 1);
    await rollouts.plane.client.delete(RESOURCES.Listener, at('gone'));
    const ready = await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('untended'));
      const found = findCondition(status?.conditions, 'Ready');
      return found?.reason === 'ListenerMissing' && found;
    });
    expect(ready.message).toMatch(/^Listener gone does not exist in this namespace; create it/);
    await waitFor(async () => (await rollouts.said('untended')).includes('ListenerMissing'));
  });

  it('writes nothing when nothing has changed', async () => {
    expect(await rollouts.writtenByRestart()).toEqual([]);
  });

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
