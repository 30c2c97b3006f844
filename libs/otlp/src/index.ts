/** OTLP: requests of the trace service, their spans as runs, and its answers. */
export { jsonSpans } from './json/json-spans.js';
export { protobufSpans } from './protobuf/protobuf-spans.js';
export { writeExportAnswer, writeStatus } from './protobuf/write-answer.js';
export { type RefusedSpan, runOfSpan, type SpanOperation } from './mapping/run-of-span.js';
export { type ReceivedSpan, UnreadableRequestError } from './span.js';
