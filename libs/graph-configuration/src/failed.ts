import { TerminalError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** An error about a `langgraph.json`. */
export function failed(message: string, cause?: unknown): TerminalError {
  return new TerminalError(REASON.graphLoadFailed, `langgraph.json: ${message}`, { cause });
}
