import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorText } from '#lib/errors';
import { claimAddress } from '#lib/held-sockets';
import { limitServer, serverOptions } from '#lib/http';
import type { Logger } from './logger.js';
import type { Program } from './program.js';
import { renderMetrics } from './render-metrics.js';

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const { createServer } = process.getBuiltinModule('node:http');

export interface MetricsServerOptions {
  readonly program: Program;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly log: Logger;
}

export interface MetricsServer {
  readonly name: 'metrics';
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * `GET /metrics` and `GET /healthz` on an internal address. Holds no secret, asks for no key: who reaches the address may
 * read the numbers.
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { program, host, port, log } = options;
  const server = createServer(serverOptions(), (request, response) => {
    answer(program, request, response).catch((error: unknown) => {
      log.error({ error: errorText(error) }, 'rendering the metrics failed');
      response.writeHead(500).end();
    });
  });
  limitServer(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(claimAddress({ host, port }), resolve);
  });
  // an idle server must not keep a program alive whose work is done
  server.unref();
  server.on('error', (error) => log.warn({ error: errorText(error) }, 'the metrics server failed'));
  return {
    name: 'metrics',
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(program: Program, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  if (path !== '/metrics' && path !== '/healthz') return void response.writeHead(404).end();
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
  if (path === '/healthz') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
  const { contentType, text } = await renderMetrics(program);
  response.writeHead(200, { 'content-type': contentType });
  response.end(request.method === 'HEAD' ? undefined : text);
}
