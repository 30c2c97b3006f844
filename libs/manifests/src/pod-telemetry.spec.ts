import { describe, expect, it } from '@jest/globals';
import { readTelemetrySettings } from '#lib/telemetry';
import type { PlatformSettings } from './platform-settings.js';
import { METRICS_ANNOTATIONS, METRICS_PORT, telemetryEnvironment } from './pod-resources.js';

const cluster: PlatformSettings = { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns' };
const machine: PlatformSettings = { ...cluster, addresses: 'loopback' };
const tracing = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

/** The variables as the pod's process gets them. */
function environmentOf(
  settings: PlatformSettings,
  more: Readonly<Record<string, string>>,
  isAgent = false,
): Readonly<Record<string, string>> {
  const podIp = settings.addresses === 'loopback' ? '127.0.0.1' : '10.1.2.3';
  const own = telemetryEnvironment(settings, isAgent).map(({ name, value }) => [name, value ?? podIp]);
  return { ...more, ...(Object.fromEntries(own) as Readonly<Record<string, string>>) };
}

describe('the telemetry of a pod', () => {
  it("serves metrics on the pod's address in a cluster", () => {
    const { metrics } = readTelemetrySettings(environmentOf(cluster, {}));
    expect(metrics).toEqual({ host: '10.1.2.3', port: METRICS_PORT });
    expect(METRICS_ANNOTATIONS['prometheus.io/port']).toBe(String(METRICS_PORT));
  });

  it('serves metrics on the port that the node mapped on one machine', () => {
    const mapped = { [`AGENTPLANE_PORT_${METRICS_PORT}`]: '40123' };
    expect(readTelemetrySettings(environmentOf(machine, mapped)).metrics).toEqual({
      host: '127.0.0.1',
      port: 40123,
    });
  });

  it("sends the platform's spans to the platform's collector", () => {
    const settings = readTelemetrySettings(environmentOf({ ...machine, tracing }, {}));
    expect(settings.tracing?.url).toBe('http://collector:4318/v1/traces');
  });

  it("leaves an agent's own OpenTelemetry variables to the agent", () => {
    const own = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://mine:4318' };
    const environment = environmentOf({ ...machine, tracing }, own, true);
    expect(environment['OTEL_EXPORTER_OTLP_ENDPOINT']).toBe('http://mine:4318');
    const settings = readTelemetrySettings(environment, 'AGENTPLANE_');
    expect(settings.tracing?.url).toBe('http://collector:4318/v1/traces');
    expect(readTelemetrySettings(environmentOf(machine, own, true), 'AGENTPLANE_').tracing).toBeUndefined();
  });
});
