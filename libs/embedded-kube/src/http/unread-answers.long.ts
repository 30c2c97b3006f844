import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { textAt } from '#lib/kube-semantics';
import { waitFor } from '#lib/testing';
import { parse } from 'yaml';
import { testApi } from '../testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const LARGE = 1_000_000;
const CLIENTS = 40;

describe('an answer that clients leave unread', () => {
  const api = testApi();
  let kubeconfig: unknown;
  beforeAll(async () => {
    for (const name of ['a', 'b', 'c', 'd'])
      await api.admin.create(MAPS, {
        metadata: { name },
        data: { x: `${'ä😀'.repeat(4)}${'x'.repeat(LARGE)}` },
      });
    kubeconfig = parse(await api.server.adminKubeconfig());
  });

  function ask(path: string): TLSSocket {
    const pem = (name: string) => Buffer.from(textAt(kubeconfig, ['users', 0, 'user', name]), 'base64');
    const { hostname, port } = new URL(api.server.url);
    const [cert, key] = [pem('client-certificate-data'), pem('client-key-data')];
    const socket = connect({ host: hostname, port: Number(port), cert, key, rejectUnauthorized: false });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
    return socket;
  }

  it.each([
    ['a list', MAPS],
    ['a table', `${MAPS}?includeObject=Object`],
    ['an object', `${MAPS}/a`],
  ])('holds little memory: %s', async (_, path) => {
    const before = process.memoryUsage().arrayBuffers;
    const sockets = Array.from({ length: CLIENTS }, () => ask(path));
    await waitFor(() => sockets.every((socket) => socket.bytesWritten > 0));
    for (let n = 0; n < 5; n++) await api.admin.get('/healthz'); // theirs were answered before these
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((CLIENTS * LARGE) / 2);
    for (const socket of sockets) socket.destroy();
  });
});
