import { describe, expect, it } from '@jest/globals';
import { readTelemetrySettings } from './telemetry-settings.js';

describe('the settings of telemetry', () => {
  it('serves nothing and sends nothing where nothing is configured', () => {
    expect(readTelemetrySettings({})).toEqual({
      metrics: undefined,
      tracing: undefined,
    });
  });

  it.each([
    ['its own port', { AGENTPLANE_METRICS_PORT: '1234' }, { host: '127.0.0.1', port: 1234 }],
    ['a free port', { AGENTPLANE_METRICS_PORT: '0' }, { host: '127.0.0.1', port: 0 }],
    ['the port that the node mapped', { AGENTPLANE_PORT_9464: '4321' }, { host: '127.0.0.1', port: 4321 }],
    [
      "its own port on the pod's address",
      { AGENTPLANE_METRICS_PORT: '9464', AGENTPLANE_METRICS_HOST: '10.0.0.7' },
      { host: '10.0.0.7', port: 9464 },
    ],
  ])('takes %s', (_, environment, expected) => {
    expect(readTelemetrySettings(environment).metrics).toEqual(expected);
  });

  it('reads the standard variables of OpenTelemetry', () => {
    const { tracing } = readTelemetrySettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc, x-tenant=one',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    });
    expect(tracing).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: { authorization: 'Bearer abc', 'x-tenant': 'one' },
      resource: { 'deployment.environment': 'test' },
      timeoutMs: 10_000,
      sampler: 'parentbased_traceidratio',
      samplerRatio: 0.25,
    });
  });

  it('prefers the endpoint for traces and sends nothing when the SDK is disabled', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://one:4318',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://two/v1/other',
    };
    expect(readTelemetrySettings(environment).tracing?.url).toBe('http://two/v1/other');
    expect(readTelemetrySettings({ ...environment, OTEL_SDK_DISABLED: 'true' }).tracing).toBeUndefined();
  });
});
