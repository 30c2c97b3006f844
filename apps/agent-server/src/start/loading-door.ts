import { createServer } from 'node:http';
import { claimAddress } from '#lib/held-sockets';
import { formatNotReady } from '#lib/lifecycle';

/**
 * Answers every request with 503 and the progress of the start, until the routes can answer: graphs are code
 * of others, and one that hangs while it loads must not keep the server from reporting it.
 * @param detail asked at each request
 * @returns closes the server and its connections, and leaves the port to the routes
 */
export async function openLoadingDoor(
  { host, port }: { readonly host: string; readonly port: number },
  detail: () => string,
): Promise<() => Promise<void>> {
  if (port === 0) return async () => undefined; // no client could find it
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(formatNotReady({ detail: detail() })));
  });
  server.on('connection', (socket) => socket.unref()); // no reason for the process to wait
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(claimAddress({ host, port }), resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
