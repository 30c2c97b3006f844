import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerSocket, protectAnswer } from '#lib/http';
import { type ServicePort, ServiceWay } from '#lib/service-front';
import type { Clock } from '#lib/time';
import type { AgentRoutes, RouteTarget } from './agent-routes.js';

/** What keeps a request from a deployment. */
interface Refusal {
  readonly status: 404 | 503;
  readonly detail: string;
}

/**
 * Hands requests whose host leads to a deployment on to its Service, before anything of the api sees them; a host below the
 * domains of routes never reaches the api itself.
 */
export function routeHosts(server: Server, routes: AgentRoutes, clock: Clock): void {
  const way = new ServiceWay(clock);
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean;
  server.emit = ((event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'request') return emit(event, ...args);
    const [incoming, response] = args as [IncomingMessage, ServerResponse];
    const target = routes.find(incoming.headers.host);
    if (!target) return emit(event, ...args);
    const to = portOf(target);
    if ('port' in to) way.request(incoming, response, to);
    else refuse(response, to);
    return true;
  }) as typeof server.emit;
  // of routed hosts alone: see `isRoutedUpgrade`
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const target = routes.find(incoming.headers.host);
    const to = target ? portOf(target) : ({ status: 404, detail: 'Not Found' } as const);
    if ('port' in to) way.upgrade(incoming, client, head, to);
    else answerSocket(client, to.status, { detail: to.detail });
  });
}

function portOf(target: RouteTarget): ServicePort | Refusal {
  if (target.kind === 'none') return { status: 404, detail: `No deployment has the host ${target.host}` };
  const { metadata } = target.deployment;
  const name = `${metadata.namespace}/${metadata.name}`;
  if (target.address === undefined)
    return { status: 503, detail: `Deployment ${metadata.name} does not serve yet` };
  const { hostname: host, port } = new URL(target.address);
  return { name, host, port: Number(port || 80) };
}

function refuse(response: ServerResponse, { status, detail }: Refusal): void {
  const body = JSON.stringify({ detail });
  protectAnswer(response);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(status === 503 ? { 'retry-after': '1' } : {}),
  });
  response.end(body);
}
