import { currentScope, inScope, type SpanPlace } from './scope.js';
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
  const span = tracing.begin(name, attributes, parent ?? scope.span);
  try {
    const result = await inScope({ ...scope, span: span.place }, work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
