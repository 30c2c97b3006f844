import { jsonbText } from '../json-text.js';
import type { StoredRun } from './stored-run.js';

/**
 * Summary of a run that is read without its input: a few words, in a separate column. Inputs are megabytes,
 * and the heap that one takes once it is parsed may be twenty times its length.
 */
export interface RunOutline {
  /** Length of the text of its kwargs. */
  readonly bytes: number;
  /** The identity of the caller who made it; absent when authentication is off. */
  readonly caller?: string;
  readonly webhook?: string;
  readonly streamed?: boolean;
  readonly resumable?: boolean;
  readonly protocol?: 'v2';
  readonly feedback_keys?: readonly string[];
}

/** SQL: the outline of a run `r`. Servers of an earlier version write none: it is made of the input then. */
export const OUTLINE = 'coalesce(r.outline, agentplane.outline_of(r.kwargs))';

/** SQL: the identity of the caller who made a run `r`; null when authentication is off. */
export const CALLER_OF_RUN = `${OUTLINE} ->> 'caller'`;

/** JSON text of the outline. @param kwargsText JSON text of the run's kwargs */
export function outlineText({ kwargs }: Pick<StoredRun, 'kwargs'>, kwargsText: string): string {
  const { langgraph_auth_user_id: caller } = kwargs.caller;
  const { webhook, streamed, resumable, protocol, feedback_keys } = kwargs;
  const outline: RunOutline = {
    bytes: Buffer.byteLength(kwargsText),
    ...(typeof caller === 'string' ? { caller } : {}),
    ...(webhook === undefined ? {} : { webhook }),
    ...(streamed ? { streamed } : {}),
    ...(resumable ? { resumable } : {}),
    ...(protocol === undefined ? {} : { protocol }),
    ...(feedback_keys === undefined ? {} : { feedback_keys }),
  };
  return jsonbText(outline);
}
