import { describe, expect, it } from '@jest/globals';
import { testEmbeddedKube, testKubeClient } from '#lib/testing';
import { mayReadLogs } from './log-server.js';

describe('who may read the logs of a node', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);

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
