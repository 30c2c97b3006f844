import { currentScope, inScope } from './scope.js';
import { renderTraceParent } from './trace-parent.js';
import type { SpanPlace } from './span-place.js';
import { activeTracing, type SpanAttributes } from './tracing.js';

/**
 * Runs work as a span of the trace that it belongs to. Without a configured endpoint it is the call of `work` and one look
 * at a variable.
 * @param parent another process's span, where the work was asked for from there; by default the span around the call
 */
export async function withSpan<T>(
  name: string,
  attributes: SpanAttributes,
  work: () => Promise<T>,
  parent?: SpanPlace,
): Promise<T> {
  const tracing = activeTracing();
  if (!tracing) return work();
  const scope = currentScope();
  const span = tracing.begin(name, attributes, parent ?? scope.span?.place);
  try {
    const result = await inScope({ ...scope, span }, work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Says more about the span around the call, where there is one. */
export function describeSpan(attributes: SpanAttributes): void {
  currentScope().span?.set(attributes);
}

/** The `traceparent` to hand to another program, so that its spans become children of the span around the call. */
export function currentTraceParent(): string | undefined {
  const { span } = currentScope();
  return span && renderTraceParent(span.place);
}
