import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerSocket, protectAnswer, whenExchangeEnds } from '#lib/http';
import { type ServicePort, ServiceWay } from '#lib/service-front';
import type { Clock } from '#lib/time';
import type { AgentRoutes, RouteTarget } from './agent-routes.js';
import { ROUTED_LIMITS, type RoutedLimits, RoutedRoom } from './routed-room.js';

/** What keeps a request from a deployment. */
interface Refusal {
  readonly status: 404 | 503;
  readonly detail: string;
}

/**
 * Hands requests whose host leads to a deployment on to its Service, before anything of the api sees them; a host below the
 * domains of routes never reaches the api itself.
 */
export function routeHosts(
  server: Server,
  routes: Pick<AgentRoutes, 'find'>,
  clock: Clock,
  limits: RoutedLimits = ROUTED_LIMITS,
): void {
  const way = new ServiceWay(clock);
  const room = new RoutedRoom(limits);
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean;
  server.emit = ((event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'request') return emit(event, ...args);
    const [incoming, response] = args as [IncomingMessage, ServerResponse];
    const target = routes.find(incoming.headers.host);
    if (!target) return emit(event, ...args);
    const to = enter(target, room);
    if ('leave' in to) {
      whenExchangeEnds(incoming, response, to.leave);
      way.request(incoming, response, to.port);
    } else refuse(response, to);
    return true;
  }) as typeof server.emit;
  // of routed hosts alone: see `isRoutedUpgrade`
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const target = routes.find(incoming.headers.host);
    const to = target ? enter(target, room) : ({ status: 404, detail: 'Not Found' } as const);
    if ('leave' in to) {
      client.once('close', to.leave);
      way.upgrade(incoming, client, head, to.port);
    } else answerSocket(client, to.status, { detail: to.detail });
  });
}

/** The way to a deployment, and what gives its place back. */
interface Entered {
  readonly port: ServicePort;
  readonly leave: () => void;
}

function enter(target: RouteTarget, room: RoutedRoom): Entered | Refusal {
  if (target.kind === 'none') return { status: 404, detail: `No deployment has the host ${target.host}` };
  const { name, namespace = '' } = target.deployment.metadata;
  if (target.kind === 'elsewhere')
    return { status: 404, detail: `Deployment ${name} runs in another cluster, where it has an address` };
  if (target.address === undefined) return { status: 503, detail: `Deployment ${name} does not serve yet` };
  const leave = room.enter(namespace);
  if (!leave)
    return { status: 503, detail: 'As many requests to deployments are open as may be; retry in a moment' };
  const { hostname: host, port } = new URL(target.address);
  return { leave, port: { name: `${namespace}/${name}`, host, port: Number(port || 80) } };
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
