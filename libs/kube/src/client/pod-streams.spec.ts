import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { NODES, PODS } from '#lib/resources';
import { hasRealKubernetes, testApiServer, testEmbeddedKube } from '#lib/testing';
import { loadKubeConnection } from '../connection/load-kube-connection.js';
import { KubeClient } from './kube-client.js';
import { forwardPort, runInPod } from './pod-streams.js';

const NAMESPACE = 'default';
const POD = { namespace: NAMESPACE, name: 'agent' };
const ACCOUNTS = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};

/** Makes a pod, on a node if one is named; nothing runs it. */
async function makePod(kubeconfigPath: string, nodeName?: string) {
  const connection = await loadKubeConnection({ kubeconfigPath });
  const client = new KubeClient(connection);
  await client
    .create(ACCOUNTS, { metadata: { name: 'default', namespace: NAMESPACE } })
    .catch(() => undefined);
  if (nodeName !== undefined) await client.create(NODES, { metadata: { name: nodeName } });
  const spec = {
    containers: [{ name: 'main', image: 'none' }],
    automountServiceAccountToken: false,
    ...(nodeName === undefined ? {} : { nodeName }),
  };
  await client.create(PODS, { metadata: POD, spec });
  await client.close();
  return connection;
}

const request = { container: undefined, command: ['ls'], stdout: new PassThrough() };

(hasRealKubernetes ? describe : describe.skip)('streams of pods at a real API server', () => {
  const server = testApiServer();

  it('fail in the words of the server', async () => {
    const connection = await makePod(server.kubeconfigPath);
    const refusal = { code: 400, message: 'pod agent does not have a host assigned' };
    await expect(runInPod(connection, POD, request)).rejects.toMatchObject(refusal);
    await expect(forwardPort(connection, POD, 8000, new PassThrough())).rejects.toMatchObject(refusal);
    await expect(runInPod(connection, { ...POD, name: 'none' }, request)).rejects.toMatchObject({
      code: 404,
    });
  });
});

describe('streams of pods at the API server of one machine', () => {
  const server = testEmbeddedKube();

  it('fail with what to use instead', async () => {
    const connection = await makePod(server.kubeconfigPath, 'machine');
    await expect(runInPod(connection, POD, request)).rejects.toMatchObject({
      code: 405,
      message: expect.stringContaining('inspect them with the tools of the machine'),
    });
  });
});
