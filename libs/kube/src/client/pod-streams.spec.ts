import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { WebSocketServer } from 'ws';
import { NODES, PODS } from '#lib/resources';
import { hasRealKubernetes, temporaryFolder, testApiServer, testEmbeddedKube } from '#lib/testing';
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

describe('a stream whose first messages come with the answer that opens it', () => {
  const folder = temporaryFolder();

  it('loses none of them', async () => {
    const sockets = new WebSocketServer({ noServer: true });
    const server = createServer().on('upgrade', (asked, connection, head) => {
      // a node nearby is as fast: one packet has the answer and all messages
      connection.cork();
      sockets.handleUpgrade(asked, connection, head, (socket) => {
        for (const message of ['\u0001hi', '\u0003{"status":"Success"}']) socket.send(Buffer.from(message));
        connection.uncork();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const kubeconfigPath = join(folder, 'kubeconfig');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const named = (kind: string, value: object): object => ({
      [`${kind}s`]: [{ name: 'one', [kind]: value }],
    });
    const parts = [
      named('cluster', { server: address }),
      named('user', {}),
      named('context', { cluster: 'one', user: 'one' }),
    ];
    const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'one' };
    writeFileSync(kubeconfigPath, JSON.stringify(Object.assign(config, ...parts)));
    const stdout = new PassThrough();
    const code = await runInPod(await loadKubeConnection({ kubeconfigPath }), POD, { ...request, stdout });
    expect([code, await text(stdout.end())]).toEqual([0, 'hi']);
    server.close();
  });
});
