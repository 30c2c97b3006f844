import { unless } from '#lib/errors';
import { ConnectionRoom } from '#lib/http';
import { jsonEquals } from '#lib/json';
import { type ControllerSpec, fromObjects, type Informers, isNotFound, type KubeClient } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { done, type Result } from '#lib/reconcile';
import {
  ANNOTATION,
  keyOf,
  keyText,
  type ObjectKey,
  type Pod,
  PODS,
  type Service,
  SERVICES,
} from '#lib/resources';
import { type Endpoint, ServiceListener, sleepOf } from '#lib/service-front';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { RunningNode } from '../node/start-node.js';
import { readJson, writeWhole } from '../pod-files/pod-files.js';

/** Port of a Service → port on loopback. */
export type RealPorts = Readonly<Record<string, number>>;

interface Remembered {
  /** Ports by uid: a later Service of the same name is another one. */
  readonly services: Readonly<Record<string, RealPorts>>;
}

/**
 * Ports of Services, in a file of the node. They are not kept in annotations: an editor of a Service could
 * name the port of another program there, and would receive its traffic when that program starts later than
 * the proxy.
 */
class RememberedPorts {
  readonly #file: string;
  /** Services that are older than this may have a port that only their annotation knows. */
  readonly #unknownBefore: number;
  #services: Remembered['services'];

  constructor(file: string, clock: Clock) {
    this.#file = file;
    const read = readJson<Remembered>(file)?.services; // a power cut may leave an empty file
    this.#services = read ?? {};
    // times of creation are whole seconds
    this.#unknownBefore = read ? 0 : Math.floor(clock.now().getTime() / 1000) * 1000;
    if (!read) this.#write({});
  }

  of(service: Service): RealPorts {
    const { uid = '', creationTimestamp = '' } = service.metadata;
    const known = Object.hasOwn(this.#services, uid) ? this.#services[uid] : undefined;
    if (known) return known;
    return new Date(creationTimestamp).getTime() < this.#unknownBefore ? noted(service) : {};
  }

  /** @param existing Services that exist; the others are forgotten */
  keep(service: Service, ports: RealPorts, existing: readonly Service[]): void {
    const { uid = '' } = service.metadata;
    if (jsonEquals(this.#services[uid], ports)) return;
    const uids = new Set(existing.map(({ metadata }) => metadata.uid));
    const others = Object.entries(this.#services).filter(([uid]) => uids.has(uid));
    this.#write({ ...Object.fromEntries(others), [uid]: ports });
  }

  #write(services: Remembered['services']): void {
    writeWhole(this.#file, `${JSON.stringify({ services } satisfies Remembered, undefined, 2)}\n`);
    this.#services = services;
  }
}

/** Reads the annotation of nodes from before this file: one number, or JSON from port to real port. */
function noted(service: Service): RealPorts {
  const text = service.metadata.annotations?.[ANNOTATION.loopbackPort] ?? '';
  const [first] = service.spec.ports ?? [];
  if (/^\d+$/.test(text)) return first ? { [first.port]: Number(text) } : {};
  try {
    return JSON.parse(text) as RealPorts;
  } catch {
    return {};
  }
}

type ServicePort = NonNullable<Service['spec']['ports']>[number];

function targetPort(port: ServicePort, pod: Pod): number | undefined {
  const { targetPort: target = port.port } = port;
  if (typeof target === 'number') return target;
  for (const container of pod.spec.containers)
    for (const one of container.ports ?? []) if (one.name === target) return one.containerPort;
  return undefined;
}

/** True for a pod that a Service selects. One without a selector selects none. */
function isSelected({ metadata: pod }: Pod, { metadata, spec }: Service): boolean {
  const selector = Object.entries(spec.selector ?? {});
  return (
    pod.namespace === metadata.namespace &&
    selector.length > 0 &&
    selector.every(([key, value]) => pod.labels?.[key] === value)
  );
}

/**
 * The ready pods behind one port of a Service, by the Service's selector. The node says which are ready and what their
 * ports are: it knows that before the API server, and an editor of the pod could note any port of the machine.
 */
export function findEndpoints(
  service: Service,
  port: ServicePort,
  pods: readonly Pod[],
  node: Pick<RunningNode, 'servingPortsOf'>,
): Endpoint[] {
  return pods.flatMap((pod) => {
    if (pod.metadata.deletionTimestamp !== undefined || !isSelected(pod, service)) return [];
    const container = targetPort(port, pod);
    const real = container === undefined ? undefined : node.servingPortsOf(pod)?.[container];
    return real === undefined ? [] : [{ pod: pod.metadata.name, port: real }];
  });
}

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
  /** The node of this machine. */
  readonly node: Pick<RunningNode, 'servingPortsOf' | 'onServing'>;
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
        return findEndpoints(service, current, pods.list(key.namespace), options.node);
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

  options.node.onServing((pod) => {
    for (const service of services.list(pod.metadata.namespace).filter((one) => isSelected(pod, one)))
      for (const { port } of service.spec.ports ?? [])
        listening.get(`${keyText(keyOf(service))}:${port}`)?.listener.lookNow();
  });

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
  const change = { metadata: { annotations: { [name]: text } } };
  await client.mergeStatus(SERVICES, key, change).catch(unless(isNotFound));
}

function shapeOf(port: ServicePort): string {
  return `${port.name ?? ''}`;
}
