import type { PlatformCredentials } from '#lib/data-folder';
import type { Ports } from '../data-folder/ports.js';

/** Metrics address of each program that is no pod. */
export function metricsAddresses(ports: Ports): PlatformCredentials['metrics'] {
  const at = (port: number): string => `http://127.0.0.1:${port}/metrics`;
  return {
    supervisor: at(ports.supervisorMetrics),
    api: at(ports.apiMetrics),
    controller: at(ports.controller),
    embedded: at(ports.embeddedMetrics),
  };
}
