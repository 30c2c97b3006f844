import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { listAt, textAt } from '#lib/kube-semantics';
import { itLong, waitFor } from '#lib/testing';
import { parse } from 'yaml';
import { testApi } from '../testdata/test-api.js';
import { piecesOf } from './write-parts.js';

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

  function ask(path: string, config = kubeconfig): TLSSocket {
    const pem = (name: string) => Buffer.from(textAt(config, ['users', 0, 'user', name]), 'base64');
    const { hostname, port } = new URL(api.server.url);
    const [cert, key] = [pem('client-certificate-data'), pem('client-key-data')];
    const socket = connect({ host: hostname, port: Number(port), cert, key, rejectUnauthorized: false });
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`);
    return socket;
  }

  it('counts for its reader, who is refused more than 64 MB of them', async () => {
    await api.admin.create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'slow' },
      subjects: [{ kind: 'User', name: 'slow', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
    });
    const config = await api.server.kubeconfigFor({ kind: 'certificate', user: 'slow', groups: [] });
    // 14 lists leave less than an object of the 64 MB
    await api.admin.create(MAPS, { metadata: { name: 'rest' }, data: { x: 'x'.repeat(780_000) } });
    const sockets = Array.from({ length: 14 }, () => ask(MAPS, parse(config)));
    await Promise.all(sockets.map((socket) => once(socket, 'readable')));
    const slow = api.client(config);
    const refused = await slow.get(MAPS);
    expect([refused.code, refused.headers['retry-after']]).toEqual([429, '1']);
    expect((await slow.get(`${MAPS}?labelSelector=none`)).code).toBe(200);
    const change = { metadata: { labels: { changed: 'yes' } } };
    expect((await slow.merge(`${MAPS}/d?dryRun=All`, change)).code).toBe(429);
    const written = await slow.merge(`${MAPS}/d`, change);
    expect([written.code, textAt(written.body, ['message'])]).toEqual([
      504,
      expect.stringMatching(
        /^Timeout: the write was carried out, but its answer is not sent: slow has not read/,
      ),
    ]);
    const seen = await api.admin.get(`${MAPS}?labelSelector=changed`);
    expect(listAt(seen.body, 'items')).toHaveLength(1);
    for (const socket of sockets) socket.destroy();
    await waitFor(async () => (await slow.get(MAPS)).code === 200);
    await api.admin.delete(`${MAPS}/rest`);
  });

  it('goes whole to a client that reads', async () => {
    const list = await api.admin.get(MAPS);
    expect(listAt(list.body, 'items').map((one) => textAt(one, ['data', 'x']).length)).toEqual(
      Array.from({ length: 4 }, () => LARGE + 12),
    );
    const one = await api.admin.get(`${MAPS}/a`);
    expect(Number(one.headers['content-length'])).toBe(Buffer.byteLength(one.text));
    const table = await api.admin.call('GET', `${MAPS}?includeObject=Object`, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    expect(listAt(table.body, 'rows').map((row) => textAt(row, ['cells', 0]))).toEqual(['a', 'b', 'c', 'd']);
    const yaml = await api.admin.call('GET', MAPS, { accept: 'application/yaml' });
    expect(yaml.headers['content-type']).toBe('application/yaml');
    expect(listAt(parse(yaml.text), 'items')).toHaveLength(4);
  });

  it('tears no character between pieces', () => {
    for (const shift of [0, 1]) {
      const text = 'x'.repeat(shift) + '😀'.repeat(200_000);
      const pieces = [...piecesOf(['[', text, ']'])].slice(1, -1);
      expect(pieces.join('')).toBe(text);
      expect(pieces.map((piece) => piece.isWellFormed())).not.toContain(false);
    }
  });

  itLong.each([
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
