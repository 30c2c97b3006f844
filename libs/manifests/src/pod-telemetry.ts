import type { EnvironmentVariable } from '#lib/resources';
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
