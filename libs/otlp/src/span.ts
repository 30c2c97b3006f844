/** An integer as readers of JSON keep it: its digits if a number would round. */
export function integer(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** The request does not match its content type, or exceeds the limits of a request. */
export class UnreadableRequestError extends Error {
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
    this.name = 'UnreadableRequestError';
  }
}

/** A value of an attribute, as JSON has it: bytes are base64, integers beyond what a number holds are their digits. */
export type AttributeValue =
  string | number | boolean | null | readonly AttributeValue[] | { readonly [name: string]: AttributeValue };

/** Attributes by name; a name that is sent twice counts from the last. */
export type Attributes = ReadonlyMap<string, AttributeValue>;

export interface SpanEvent {
  readonly name: string;
  readonly timeUnixNano: bigint;
  readonly attributes: Attributes;
}

export interface SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

export interface InstrumentationScope {
  readonly name: string;
  readonly version: string;
}

/** A span as OTLP has it. Ids are lower-case hexadecimal. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: bigint;
  readonly endTimeUnixNano: bigint;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly links: readonly SpanLink[];
  /** 0 unset, 1 ok, 2 error. */
  readonly statusCode: number;
  readonly statusMessage: string;
  /** Attributes, values, events and links that were left out here, being too many or nested too deeply. */
  readonly leftOut: number;
}

/** Data that several spans of a request share. */
export interface Origin {
  readonly resource: Attributes;
  readonly scope: InstrumentationScope;
}

/** Place of a span in its request: `resourceSpans`, 0, `scopeSpans`, 0, `spans`, 0. */
export type SpanPlace = readonly (string | number)[];

/** A span with its origin. */
export interface ReceivedSpan extends Origin {
  readonly place: SpanPlace;
  readonly span: Span;
}

/** Maximum number of spans of a request: exporters send 512 at a time. */
export const MAX_SPANS = 20_000;
/** Maximum number of groups of spans (of a resource, of a scope) of a request, empty ones counted. */
export const MAX_GROUPS = 20_000;

/**
 * Limits of one span; data beyond them is left out of it. SDKs have 128 attributes, events and links unless
 * told otherwise.
 */
export const SPAN_BOUNDS = {
  attributes: 1_000,
  events: 1_000,
  links: 100,
  values: 20_000,
  depth: 16,
  /** Bytes of the text of all values together. A byte may take six in JSON. */
  textBytes: 8_388_608,
  /** Left-out values; a request with more is refused. */
  leftOut: 100_000,
} as const;

/** Counts the data of one span, or of one resource. */
export class SpanCount {
  #values = 0;
  #textBytes = 0;
  #leftOut = 0;

  /** True when one more value may be kept; one that may not is counted as left out. */
  takes(depth: number): boolean {
    if (depth <= SPAN_BOUNDS.depth && this.#values < SPAN_BOUNDS.values) {
      this.#values++;
      return true;
    }
    return this.#leaveOut();
  }

  /** True when a text of so many bytes may be kept. */
  takesText(bytes: number): boolean {
    if (this.#textBytes + bytes > SPAN_BOUNDS.textBytes) return this.#leaveOut();
    this.#textBytes += bytes;
    return true;
  }

  /** True when a list that has so many items may have one more. */
  takesOneMore(has: number, most: number): boolean {
    return has < most || this.#leaveOut();
  }

  /** @throws UnreadableRequestError when it takes more time to count them than a span may */
  #leaveOut(): false {
    if (++this.#leftOut > SPAN_BOUNDS.leftOut)
      throw new UnreadableRequestError(
        `a span, or a resource, has over ${SPAN_BOUNDS.leftOut} attributes, values, events or links too many`,
        true,
      );
    return false;
  }

  get leftOut(): number {
    return this.#leftOut;
  }
}
