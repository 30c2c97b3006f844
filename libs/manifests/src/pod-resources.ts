import type { EnvironmentVariable, PodResources } from '#lib/resources';
import type { PlatformSettings } from './platform-settings.js';

/** Container port of `/metrics` in every pod of the platform. */
export const METRICS_PORT = 9464;

/**
 * Port for metrics that a container of the platform declares; it comes after the ports that Services point
 * to.
 */
export const METRICS_CONTAINER_PORT = Object.freeze({
  name: 'metrics',
  containerPort: METRICS_PORT,
  protocol: 'TCP',
} as const);

/** Annotations for scrapers that find pods by them. */
export const METRICS_ANNOTATIONS: Readonly<Record<string, string>> = Object.freeze({
  'prometheus.io/scrape': 'true',
  'prometheus.io/port': String(METRICS_PORT),
  'prometheus.io/path': '/metrics',
});

/** Variables of agents bear it: `OTEL_…` without it are the user's own, for what the agent itself traces. */
const AGENT_PREFIX = 'AGENTPLANE_';

/**
 * Variables for the address at which a pod serves its metrics, and for the target of its spans.
 * @param isAgent true when the user's code runs in it
 */
export function telemetryEnvironment(
  { addresses, tracing = {} }: Pick<PlatformSettings, 'addresses' | 'tracing'>,
  isAgent = false,
): readonly EnvironmentVariable[] {
  const prefix = isAgent ? AGENT_PREFIX : '';
  return [
    { name: 'AGENTPLANE_METRICS_HOST', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    // pods that are processes share one address: the node chooses a port for each
    ...(addresses === 'cluster-dns'
      ? [{ name: 'AGENTPLANE_METRICS_PORT', value: String(METRICS_PORT) }]
      : []),
    ...Object.entries(tracing).map(([name, value]) => ({ name: `${prefix}${name}`, value })),
  ];
}

/** Wanted cores and megabytes of one container; all optional. */
export interface WantedResources {
  readonly cpu?: number;
  readonly cpuLimit?: number;
  readonly memoryMb?: number;
  readonly memoryLimitMb?: number;
}

/** Used where nothing is wanted: small, so that several agents fit on a machine with two cores. */
const DEFAULT_MILLICORES = 100;
const DEFAULT_MEMORY_MB = 256;

/**
 * Requests and limits: a limit is twice its request unless it is given. Where no request is given there is no default
 * limit either, because twice the small default would throttle an agent of unknown size.
 */
export function podResources(wanted: WantedResources): PodResources {
  const cpuLimit = millicores(wanted.cpuLimit) ?? double(millicores(wanted.cpu));
  const cpu = millicores(wanted.cpu) ?? Math.min(DEFAULT_MILLICORES, cpuLimit ?? DEFAULT_MILLICORES);
  const memoryLimit = wanted.memoryLimitMb ?? double(wanted.memoryMb);
  const memory = wanted.memoryMb ?? Math.min(DEFAULT_MEMORY_MB, memoryLimit ?? DEFAULT_MEMORY_MB);
  const limits = {
    ...(cpuLimit === undefined ? {} : { cpu: `${cpuLimit}m` }),
    ...(memoryLimit === undefined ? {} : { memory: `${memoryLimit}Mi` }),
  };
  return {
    requests: { cpu: `${cpu}m`, memory: `${memory}Mi` },
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** Cores are rounded to one decimal place. */
function millicores(cores: number | undefined): number | undefined {
  return cores === undefined ? undefined : Math.round(cores * 10) * 100;
}

function double(value: number | undefined): number | undefined {
  return value === undefined ? undefined : value * 2;
}
