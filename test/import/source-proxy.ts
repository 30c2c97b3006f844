import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of a source. */
export interface SourceProxy {
  readonly url: string;
  close(): void;
}

/** @param before is called with each request, its method and path; a number that it answers is sent as the status instead of the answer */
export async function proxyOf(
  target: string,
  before: (path: string) => number | undefined,
): Promise<SourceProxy> {
  const server = createServer((request, response) => {
    const body: Buffer[] = [];
    request.on('data', (piece: Buffer) => body.push(piece));
    request.on('end', () => {
      const path = `${request.method} ${request.url?.split('?')[0]}`;
      const status = before(path);
      if (status !== undefined) {
        response.writeHead(status, { 'retry-after': '0.2' }).end('{"detail": "slow down"}');
        return;
      }
      const { host: _host, connection: _connection, ...headers } = request.headers;
      void fetch(`${target}${request.url}`, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body.length > 0 ? { body: Buffer.concat(body) } : {}),
      }).then(async (answer) => {
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        response.end(Buffer.from(await answer.arrayBuffer()));
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close().closeAllConnections(),
  };
}
