import type { SpanPlace } from './span-place.js';

/** Attributes of a span. No tenants' data: ids of the platform's own, counts and outcomes. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span that has begun. */
export interface OpenSpan {
  readonly place: SpanPlace;
  set(attributes: SpanAttributes): void;
  /** @param failure error of the work */
  end(failure?: unknown): void;
}

/** Destination of spans. */
export interface Tracing {
  begin(name: string, attributes: SpanAttributes, parent: SpanPlace | undefined): OpenSpan;
  /** Sends what is left and ends. */
  stop(): Promise<void>;
}

let active: Tracing | undefined;

/** The tracing of this process; undefined when no endpoint is configured. */
export function activeTracing(): Tracing | undefined {
  return active;
}

export function useTracing(tracing: Tracing | undefined): void {
  active = tracing;
}
