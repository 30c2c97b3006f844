import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ANNOTATION, PODS } from '#lib/resources';
import { storeClient } from '../support/export-reader.js';
import type { Arena } from './arena.js';

/** A server that listens, and requests that it would begin to read a body of. */
export interface RawServer {
  readonly name: 'api' | 'agent' | 'agent behind its address' | 'object store' | 'Kubernetes API';
  readonly port: number;
  /** Request line and headers of a call with a body that is authenticated, without the empty line at their end. */
  readonly head: string;
  /** The same for a short answer: `GET`. */
  readonly get: string;
  connect(): Socket;
}

interface Kubeconfig {
  readonly users: readonly [
    { readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } },
  ];
}

/** Every server of the platform that speaks HTTP. */
export async function findServers(arena: Arena): Promise<readonly RawServer[]> {
  const { attacker, ports, platform, restUrl } = arena;
  const { objectStore, kubeconfig } = platform.credentials;
  const key = `x-api-key: ${attacker.keys.workspace}\r\n`;
  const json = 'content-type: application/json\r\n';
  const plain = (name: RawServer['name'], port: number, path: string): RawServer => ({
    name,
    port,
    head: `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${key}${json}`,
    get: `GET /info HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${key}`,
    connect: () => connect(port, '127.0.0.1'),
  });
  const put = new URL(
    await storeClient(objectStore).presignedPutObject(objectStore.bucket, 'attack/slow', 3600),
  );
  const store = Number(put.port);
  const { user } = (JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig).users[0];
  const pem = (text: string) => Buffer.from(text, 'base64').toString();
  const certificate = {
    cert: pem(user['client-certificate-data']),
    key: pem(user['client-key-data']),
    ca: readFileSync(join(platform.dataFolder, 'secrets', 'ca.crt'), 'utf8'),
  };
  const kube = ports['kube'] ?? 0;
  const maps = `/api/v1/namespaces/${attacker.namespace}/configmaps`;
  return [
    plain('api', Number(new URL(restUrl).port), '/runs'),
    plain('agent behind its address', Number(new URL(attacker.agentUrl).port), '/threads'),
    plain('agent', await agentPort(arena), '/threads'),
    {
      name: 'object store',
      port: store,
      head: `PUT ${put.pathname}${put.search} HTTP/1.1\r\nhost: ${put.host}\r\n`,
      get: `GET / HTTP/1.1\r\nhost: ${put.host}\r\n`,
      connect: () => connect(store, '127.0.0.1'),
    },
    {
      name: 'Kubernetes API',
      port: kube,
      head: `POST ${maps} HTTP/1.1\r\nhost: 127.0.0.1:${kube}\r\n${json}`,
      get: `GET /version HTTP/1.1\r\nhost: 127.0.0.1:${kube}\r\n`,
      connect: () => connectTls({ host: '127.0.0.1', port: kube, ...certificate }),
    },
  ];
}

/** The port that the attacker's agent itself listens on, past the proxy of its Service. */
async function agentPort({ kube, attacker }: Arena): Promise<number> {
  const { items } = await kube.list(PODS, { namespace: attacker.namespace });
  for (const { metadata } of items) {
    const ports = JSON.parse(metadata.annotations?.[ANNOTATION.loopbackPorts] ?? '{}') as Record<
      string,
      number
    >;
    if (ports['8000'] !== undefined) return ports['8000'];
  }
  throw new Error('no pod of an agent');
}
