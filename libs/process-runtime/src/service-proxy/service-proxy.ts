import { type ControllerSpec, fromObjects, type Informers, isNotFound, type KubeClient } from '#lib/kube';
import { ConnectionRoom } from '#lib/http';
import type { Stoppable } from '#lib/lifecycle';
import { done, type Result } from '#lib/reconcile';
import { ANNOTATION, keyText, type ObjectKey, type Pod, PODS, type Service, SERVICES } from '#lib/resources';
import { ServiceListener, sleepOf } from '#lib/service-front';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { findEndpoints, type ServicePort } from './endpoint.js';
import { RememberedPorts } from './remembered-ports.js';

/**
 * Connections per namespace. Any program on this machine may connect, without a key, and each connection
 * opens one to a pod.
 */
const MAX_CONNECTIONS = 4_000;

/**
 * Ports for the Services of one namespace. Each is one of 10,000 that can be kept, and a descriptor: a
 * Service may name any number.
 */
const MAX_PORTS = 500;

export interface ServiceProxyOptions {
  readonly informers: Informers;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** File in which the ports are remembered. */
  readonly file: string;
  /** True when the node of this machine gave the pod that port. */
  readonly hasPort: (pod: Pod, port: number) => boolean;
  /** Ports that the Services of one namespace may have together; default 500. */
  readonly maxPorts?: number;
}

/** The proxy's reconciler, to be started beside the node's, and its end. */
export interface ServiceProxy extends Stoppable {
  readonly controller: ControllerSpec;
}

interface Listening {
  readonly listener: ServiceListener;
  readonly realPort: number;
  /** Name of the Service's port; another name needs another listener. */
  readonly shape: string;
}

function annotationText(ports: readonly (readonly [number, number])[]): string {
  const [only] = ports;
  return ports.length === 1 && only ? String(only[1]) : JSON.stringify(Object.fromEntries(ports));
}

/** @throws Error when the namespace has all ports that it may have */
function requireRoom(key: ObjectKey, ids: Iterable<string>, most = MAX_PORTS): void {
  const { namespace = '' } = key;
  const count = [...ids].filter((id) => id.startsWith(`${namespace}/`)).length;
  if (count >= most)
    throw new Error(
      `listening for Service ${keyText(key)} failed: Services of its namespace have ${count} ports, which are all they may have; remove some`,
    );
}

function newRoom(namespace: string, { clock, log }: ServiceProxyOptions): ConnectionRoom {
  return new ConnectionRoom({
    clock,
    most: MAX_CONNECTIONS,
    onFull: (report) =>
      log.warn(
        { namespace, ...report },
        'cut connections to the Services of a namespace: as many are open as may be; "ss -tnp" names the processes of this machine that hold them',
      ),
  });
}

/**
 * The counterpart of kube-proxy: gives each Service with a selector a port on loopback, writes it into the
 * Service's annotation, and forwards to a ready pod. After a restart a Service gets the same port again, so
 * addresses stay.
 */
export function createServiceProxy(options: ServiceProxyOptions): ServiceProxy {
  const { informers, client, clock, log } = options;
  const remembered = new RememberedPorts(options.file, clock);
  const services = informers.of(SERVICES);
  const pods = informers.of(PODS);
  const listening = new Map<string, Listening>();
  const rooms = new Map<string, ConnectionRoom>();

  function roomOf({ namespace = '' }: ObjectKey): ConnectionRoom {
    const room = rooms.get(namespace) ?? newRoom(namespace, options);
    rooms.set(namespace, room);
    return room;
  }

  function portsOf(service: Service | undefined): readonly ServicePort[] {
    if (!service || service.metadata.deletionTimestamp !== undefined) return [];
    if (Object.keys(service.spec.selector ?? {}).length === 0) return [];
    return (service.spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
  }

  async function closeUnwanted(prefix: string, wanted: ReadonlyMap<string, string>): Promise<void> {
    for (const [id, { listener, shape }] of listening) {
      if (!id.startsWith(prefix) || wanted.get(id) === shape) continue;
      listening.delete(id);
      await listener.stop(true);
    }
  }

  function forgetRoom({ namespace = '' }: ObjectKey): void {
    if (![...listening.keys()].some((id) => id.startsWith(`${namespace}/`))) rooms.delete(namespace);
  }

  async function listen(key: ObjectKey, id: string, port: ServicePort, wished: number): Promise<number> {
    const known = listening.get(id);
    if (known) return known.realPort;
    requireRoom(key, listening.keys(), options.maxPorts);
    const listener = new ServiceListener({
      serviceName: keyText(key),
      port,
      clock,
      log,
      room: roomOf(key),
      sleep: sleepOf({
        name: keyText(key),
        log,
        find: () => services.find(key),
        write: (since) => annotate(client, key, ANNOTATION.wake, since),
      }),
      endpoints: () => {
        const service = services.find(key);
        const current = service?.spec.ports?.find((one) => one.port === port.port);
        if (!service || !current) return [];
        return findEndpoints(service, current, pods.list(key.namespace), options.hasPort);
      },
    });
    const realPort = await listener.listen(wished);
    listening.set(id, { listener, realPort, shape: shapeOf(port) });
    return realPort;
  }

  async function reconcile(key: ObjectKey): Promise<Result> {
    const service = services.find(key);
    const ports = portsOf(service);
    const prefix = `${keyText(key)}:`;
    await closeUnwanted(prefix, new Map(ports.map((port) => [`${prefix}${port.port}`, shapeOf(port)])));
    if (!service) forgetRoom(key);
    if (!service || ports.length === 0) return done();
    const wished = remembered.of(service);
    const real: [number, number][] = [];
    for (const port of ports)
      real.push([port.port, await listen(key, `${prefix}${port.port}`, port, wished[port.port] ?? 0)]);
    remembered.keep(service, Object.fromEntries(real), services.list());
    const text = annotationText(real);
    if (service.metadata.annotations?.[ANNOTATION.loopbackPort] === text) return done();
    await annotate(client, key, ANNOTATION.loopbackPort, text);
    return done();
  }

  return {
    name: 'service-proxy',
    controller: { name: 'service-proxy', reconcile, sources: [fromObjects(services)] },
    async stop() {
      await Promise.all([...listening.values()].map(({ listener }) => listener.stop(false)));
      listening.clear();
    },
  };
}

/** Writes the annotation together with the status, because the proxy may not change the spec of a Service. */
async function annotate(client: KubeClient, key: ObjectKey, name: string, text: string): Promise<void> {
  try {
    await client.mergeStatus(SERVICES, key, { metadata: { annotations: { [name]: text } } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function shapeOf(port: ServicePort): string {
  return `${port.name ?? ''}`;
}
