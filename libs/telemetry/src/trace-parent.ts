import type { SpanPlace } from './span-place.js';

const HEADER = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;

/** Reads a `traceparent` header (W3C Trace Context); undefined for anything that is not well-formed. */
export function parseTraceParent(header: string | readonly string[] | undefined): SpanPlace | undefined {
  if (typeof header !== 'string') return undefined;
  const [, traceId = '', spanId = '', flags = ''] = HEADER.exec(header) ?? [];
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The `traceparent` to hand on. */
export function renderTraceParent({ traceId, spanId, isSampled }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
