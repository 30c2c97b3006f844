import { choice, flag, inheritedEnvironment, integer, loadConfig, optionalText, text } from '#lib/config';
import { withoutTrailingSlashes } from '#lib/url';

/** Container port of `/metrics` in every pod of the platform. */
const METRICS_PORT = 9464;

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Variables of OpenTelemetry that a program hands on to the programs that it starts. */
export const TRACING_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_SDK_DISABLED',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
] as const;

/**
 * -1 and the empty text mean: not given.
 * @param prefix before the names of OpenTelemetry's variables
 */
const fieldsOf = (prefix: string) => ({
  metricsHost: text('AGENTPLANE_METRICS_HOST', 'address that /metrics listens on', { fallback: '127.0.0.1' }),
  metricsPort: integer('AGENTPLANE_METRICS_PORT', 'port of /metrics; 0 picks a free one', {
    fallback: -1,
    max: 65_535,
  }),
  mappedPort: integer(
    `AGENTPLANE_PORT_${METRICS_PORT}`,
    'port that a node without pod addresses chose for /metrics',
    {
      fallback: -1,
      max: 65_535,
    },
  ),
  endpoint: text(`${prefix}OTEL_EXPORTER_OTLP_ENDPOINT`, 'OpenTelemetry collector, OTLP over HTTP', {
    fallback: '',
  }),
  tracesEndpoint: text(
    `${prefix}OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`,
    'its URL for traces, when it is another',
    {
      fallback: '',
    },
  ),
  headers: optionalText(`${prefix}OTEL_EXPORTER_OTLP_HEADERS`, 'headers for the collector, NAME=VALUE,…', {
    secret: true,
  }),
  timeoutMs: integer(
    `${prefix}OTEL_EXPORTER_OTLP_TIMEOUT`,
    'longest request to the collector, milliseconds',
    {
      fallback: 10_000,
      min: 1,
    },
  ),
  resource: text(`${prefix}OTEL_RESOURCE_ATTRIBUTES`, 'attributes of every span’s resource, NAME=VALUE,…', {
    fallback: '',
  }),
  isDisabled: flag(`${prefix}OTEL_SDK_DISABLED`, 'whether no spans are sent all the same', {
    fallback: false,
  }),
  sampler: choice(`${prefix}OTEL_TRACES_SAMPLER`, 'which traces are sent', SAMPLERS, {
    fallback: 'parentbased_always_on',
  }),
  samplerRatio: text(`${prefix}OTEL_TRACES_SAMPLER_ARG`, 'share of traces for the ratio samplers, 0 to 1', {
    fallback: '1',
  }),
});

/** The settings of programs in which no code of users runs. */
export const TELEMETRY_FIELDS = fieldsOf('');

/** Target of spans, and the selection that is sent. */
export interface TracingSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly sampler: (typeof SAMPLERS)[number];
  readonly samplerRatio: number;
}

export interface TelemetrySettings {
  /** Undefined: this process serves no metrics. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  /** Undefined: this process sends no spans. */
  readonly tracing: TracingSettings | undefined;
}

/**
 * The settings that every program shares. Where users' code runs, `OTEL_…` are theirs, and those of the platform begin with
 * a prefix.
 * @throws ConfigError
 */
export function readTelemetrySettings(
  environment?: Readonly<Record<string, string | undefined>>,
  prefix: '' | 'AGENTPLANE_' = '',
): TelemetrySettings {
  const fields = prefix === '' ? TELEMETRY_FIELDS : fieldsOf(prefix);
  const config = environment ? loadConfig(fields, environment) : loadConfig(fields);
  const port = config.metricsPort >= 0 ? config.metricsPort : config.mappedPort;
  const { endpoint, tracesEndpoint, timeoutMs, sampler } = config;
  const url = tracesEndpoint || (endpoint && `${withoutTrailingSlashes(endpoint)}/v1/traces`);
  const ratio = Number(config.samplerRatio);
  return {
    metrics: port >= 0 ? { host: config.metricsHost, port } : undefined,
    tracing:
      url === '' || config.isDisabled
        ? undefined
        : {
            url,
            timeoutMs,
            sampler,
            headers: parsePairs(config.headers ?? ''),
            resource: parsePairs(config.resource),
            // the specification ignores an unusable argument
            samplerRatio: ratio >= 0 && ratio <= 1 ? ratio : 1,
          },
  };
}

/**
 * Variables that are passed on to pods: all but the headers, which may hold a secret that tenants could then
 * read.
 */
export const POD_TRACING_VARIABLES = TRACING_VARIABLES.filter(
  (name) => name !== 'OTEL_EXPORTER_OTLP_HEADERS',
);

/** Variables of these that this process has. */
export function podTracingVariables(): Readonly<Record<string, string>> {
  return inheritedEnvironment(POD_TRACING_VARIABLES);
}

/** `NAME=VALUE,…` with percent-encoded values. */
function parsePairs(pairs: string): Readonly<Record<string, string>> {
  const entries = pairs.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const] : [];
  });
  return Object.fromEntries(entries);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
