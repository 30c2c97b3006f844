import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { testEmbeddedKube } from '#lib/testing';
import { mayReadLogs } from './log-server.js';

describe('who may read the logs of a node', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;

  beforeAll(async () => {
    client = new KubeClient(await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath }));
  });
  afterAll(() => client.close());

  it.each([
    ['lets the API server read', 'kube-apiserver-kubelet-client', [], true],
    ['lets an administrator read', 'admin', ['system:masters'], true],
    ['refuses another node', 'system:node:other', ['system:nodes'], false],
    ['refuses the node itself', 'system:node:here', ['system:nodes'], false],
    ['refuses the Service proxy', 'system:kube-proxy', [], false],
    ['refuses an unknown user', 'ann', ['system:authenticated'], false],
    ['refuses a certificate without a name', '', ['system:masters'], false],
  ])('%s', async (_, user, groups, isAllowed) => {
    expect(await mayReadLogs(client, 'here', { user, groups })).toBe(isAllowed);
  });
});
