/**
 * Reports of programs about themselves: log lines that carry the request or the reconcile they belong to,
 * metrics from one catalogue (`METRICS`, described in `docs/reference/metrics.md`), and spans of the
 * platform's own work.
 *
 * `startTelemetry` opens both outputs of a program: `/metrics` on an internal address, spans to an OTLP
 * endpoint, each only where it is configured. Everything else records into memory and may be called at any
 * time.
 */
export { METRICS, type MetricKey } from './catalogue.js';
export {
  knownMethod,
  observeRequests,
  REQUEST_ID_HEADER,
  requestId,
  statusClass,
} from './observe-requests.js';
export { createLogger, type Logger } from './logger.js';
export { metrics } from './metrics.js';
export { PROGRAMS, type Program } from './program.js';
export { renderMetrics, renderMetricsJson } from './render-metrics.js';
export { recordCuts } from './record-cuts.js';
export { clientLeft, outsideScope, withLogFields } from './scope.js';
export { startTelemetry, type Telemetry } from './start-telemetry.js';
export {
  POD_TRACING_VARIABLES,
  podTracingVariables,
  readTelemetrySettings,
  TRACING_VARIABLES,
} from './telemetry-settings.js';
export { parseTraceParent } from './trace-parent.js';
export { currentTraceParent, describeSpan, withSpan } from './with-span.js';
