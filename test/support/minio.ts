import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { foreignStore, type StoreOptions } from './foreign-stores.js';

/** Absent without its program: tests with it are left out. */
export const MINIO = foreignStore('MinIO');

const AWS = 's3.us-east-1.amazonaws.com';

/** MinIO, which is an object store and its STS, behind a proxy. */
export interface Minio {
  /** Address of the proxy, which is one of the environment too. */
  readonly endpoint: string;
  /** Reaches it through the proxy, since roles are for names of AWS alone. */
  readonly awsEndpoint: string;
  /** Ids of the keys that signed requests, in order. */
  readonly keyIds: string[];
  /** Requests for roles. */
  readonly asked: URLSearchParams[];
  stop(): void;
}

export async function startMinio(options: Omit<StoreOptions, 'virtualDomain'>): Promise<Minio> {
  const running = await MINIO?.start({ ...options, virtualDomain: AWS });
  if (!running) throw new Error('no program is named');
  const store = running.endpoint;
  const keyIds: string[] = [];
  const asked: URLSearchParams[] = [];
  const front = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '', store);
    const { method = '', headers } = request;
    keyIds.push(/Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1] ?? '');
    const sent = sendRequest(store, { method, headers, path: pathname + search }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.on('data', (piece: Buffer) => {
      if (method === 'POST' && pathname === '/') asked.push(new URLSearchParams(piece.toString()));
    });
    request.pipe(sent);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    awsEndpoint: `http://${AWS}`,
    keyIds,
    asked,
    stop() {
      front.close().closeAllConnections();
      running.stop();
    },
  };
}
