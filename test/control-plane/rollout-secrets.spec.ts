import { waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import { findCondition, RESOURCES, SECRETS } from '#lib/resources';
import { at, testRollouts } from './rollout-plane.js';

describe('Secrets of a deployment', () => {
  const rollouts = testRollouts();

  it('makes a revision when the Secret of a deployment that was touched has changed', async () => {
    await rollouts.plane.client.create(SECRETS, { metadata: at('variables'), data: { A: 'MQ==' } });
    await rollouts.deploy('secretive', { secretsRef: { name: 'variables' } });
    await rollouts.serve('secretive', 1);
    await rollouts.plane.client.merge(SECRETS, at('variables'), { data: { A: 'Mg==' } });
    await rollouts.touch('secretive');
    await rollouts.serve('secretive', 2);
    expect(await rollouts.revisions('secretive')).toHaveLength(2);
  });

  const destinationWith = (name: string, secret: string) =>
    rollouts.plane.client.create(RESOURCES.BulkExportDestination, {
      metadata: at(name),
      spec: {
        type: 'object_store',
        config: { bucketName: 'bucket', includeBucketInPrefix: true, endpointUrl: 'http://127.0.0.1:1' },
        credentialsSecretRef: { name: secret },
      },
    });

  it('gives an agent the Secret that a person shares with a destination', async () => {
    await rollouts.plane.client.create(SECRETS, { metadata: at('shared'), data: { A: 'MQ==' } });
    await destinationWith('sharing', 'shared');
    await rollouts.deploy('sharing', { secretsRef: { name: 'shared' } });
    await rollouts.serve('sharing', 1);
  });

  it.each([
    'elsewhere',
    'secretive-platform',
    'secretive-database',
    'secretive-00001-env',
    'marked',
    'signing',
  ])('gives the Secret %s of the platform to no agent', async (name) => {
    const types: Readonly<Record<string, string>> = {
      marked: 'agentplane.dev/destination-credentials',
      signing: 'agentplane.dev/webhook-secret',
    };
    const type = types[name];
    if (type !== undefined)
      await rollouts.plane.client.create(SECRETS, { metadata: at(name), type, data: { A: 'MQ==' } });
    if (name === 'elsewhere') {
      const { apiVersion = '', kind = '', metadata } = await destinationWith('nowhere', name);
      const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' };
      const made = { ...at(name), ownerReferences: [owner] };
      await rollouts.plane.client.create(SECRETS, { metadata: made, data: { A: 'MQ==' } });
    }
    // what a person could do to take a mark off
    await rollouts.plane.client.merge(SECRETS, at(name), { metadata: { labels: null } });
    await rollouts.deploy(`takes-${name}`, { secretsRef: { name } });
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at(`takes-${name}`));
      const ready = findCondition(status?.conditions, 'Ready');
      return ready?.status === 'False' && ready.reason === 'SecretRefused';
    });
    expect(await rollouts.revisions(`takes-${name}`)).toEqual([]);
  });

  it('waits a short while for a Secret that is created later', async () => {
    await rollouts.deploy('early', { secretsRef: { name: 'late' } });
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('early'));
      return findCondition(status?.conditions, 'RevisionReady')?.reason === 'SecretMissing';
    });
    await rollouts.plane.client.create(SECRETS, { metadata: at('late'), data: {} });
    await rollouts.serve('early', 1);
  });

  it('ends without warnings or errors in the logs', () => {
    expect(rollouts.plane.complaints).toEqual([]);
  });
});
