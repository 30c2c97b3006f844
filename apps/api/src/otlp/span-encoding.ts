import { unsupported } from '../wire/body-parsers.js';

/** Content type of OTLP in protobuf. */
export const PROTOBUF = 'application/x-protobuf';

export type SpanEncoding = 'json' | 'protobuf';

/** Encoding of the spans of a request, and of its answer. @throws an error of status 415 */
export function spanEncodingOf(contentType: string | undefined): SpanEncoding {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === PROTOBUF) return 'protobuf';
  if (type === 'application/json') return 'json';
  throw unsupported(`spans come as ${PROTOBUF} or application/json`);
}
