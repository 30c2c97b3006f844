import { ANNOTATION, type Pod, type Service } from '#lib/resources';
import type { Endpoint } from '#lib/service-front';

export type ServicePort = NonNullable<Service['spec']['ports']>[number];

type Ports = ReadonlyMap<string, number>;

/** Ports by the cached pod, which is another object once it changes. */
const knownPorts = new WeakMap<Pod, Ports>();

/**
 * Ports that the node noted on a pod: container port → real port. Cached: each request reads it, and an
 * editor of the pod may write much.
 */
function loopbackPorts(pod: Pod): Ports {
  const known = knownPorts.get(pod) ?? readPorts(pod);
  knownPorts.set(pod, known);
  return known;
}

function readPorts({ metadata: { annotations } }: Pod): Ports {
  try {
    const noted: unknown = JSON.parse(annotations?.[ANNOTATION.loopbackPorts] ?? '{}');
    if (typeof noted !== 'object' || noted === null) return new Map();
    return new Map(Object.entries(noted).filter((one): one is [string, number] => Number.isInteger(one[1])));
  } catch {
    return new Map();
  }
}

function targetPort(port: ServicePort, pod: Pod): number | undefined {
  const { targetPort: target = port.port } = port;
  if (typeof target === 'number') return target;
  for (const container of pod.spec.containers)
    for (const one of container.ports ?? []) if (one.name === target) return one.containerPort;
  return undefined;
}

function isReady(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp === undefined &&
    pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
  );
}

function isSelected(pod: Pod, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => pod.metadata.labels?.[key] === value);
}

/**
 * The ready pods behind one port of a Service, by the Service's selector. A Service without a selector has
 * none.
 * @param hasPort returns true when the node gave the pod that port: an editor could note any port of the
 * machine
 */
export function findEndpoints(
  service: Service,
  port: ServicePort,
  pods: readonly Pod[],
  hasPort: (pod: Pod, port: number) => boolean,
): Endpoint[] {
  const selector = service.spec.selector ?? {};
  if (Object.keys(selector).length === 0) return [];
  return pods.flatMap((pod) => {
    if (pod.metadata.namespace !== service.metadata.namespace || !isSelected(pod, selector) || !isReady(pod))
      return [];
    const container = targetPort(port, pod);
    const real = container === undefined ? undefined : loopbackPorts(pod).get(String(container));
    return real === undefined || !hasPort(pod, real) ? [] : [{ pod: pod.metadata.name, port: real }];
  });
}
