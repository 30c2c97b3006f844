/** The place of a span in its trace, as W3C Trace Context has it. */
export interface SpanPlace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}
