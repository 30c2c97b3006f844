import type { JsonObject } from '#lib/json';
import type { StreamMode } from '../../stream/stream-modes.js';

type Breakpoints = '*' | readonly string[] | null | undefined;

/**
 * A run as its row holds it: all that an attempt at any server needs. The assistant's configuration is part of it, as it
 * was when the run was made.
 */
export interface StoredRun {
  readonly runId: string;
  readonly threadId: string;
  /** True for a run without a thread: its row is removed at the end and no state is kept. */
  readonly isTemporary: boolean;
  readonly assistantId: string;
  readonly graphId: string;
  readonly metadata: JsonObject;
  /** JSON of the row, shown on the wire under the same names. */
  readonly kwargs: {
    readonly input?: unknown;
    readonly command?: {
      readonly update?: unknown;
      readonly resume?: unknown;
      readonly goto?: unknown;
    } | null;
    readonly config?: {
      readonly tags?: readonly string[] | null;
      readonly recursion_limit?: number | null;
      readonly run_name?: string | null;
      readonly configurable?: JsonObject | null;
      readonly metadata?: JsonObject | null;
    } | null;
    readonly context?: JsonObject | null;
    readonly stream_mode: readonly StreamMode[];
    readonly subgraphs: boolean;
    /** The request that made it reads its output. */
    readonly streamed?: boolean;
    /** Its output may be read from its beginning, also later. */
    readonly resumable?: boolean;
    /** Its output is that of the thread stream protocol. */
    readonly protocol?: 'v2';
    readonly interrupt_before?: Breakpoints;
    readonly interrupt_after?: Breakpoints;
    readonly checkpoint?: {
      readonly checkpoint_id?: string | null;
      readonly checkpoint_ns?: string | null;
      readonly checkpoint_map?: JsonObject | null;
    } | null;
    readonly durability?: 'sync' | 'async' | 'exit' | null;
    /** Keys of feedback, for which its output ends with addresses. */
    readonly feedback_keys?: readonly string[];
    /** Called when the run has ended. */
    readonly webhook?: string;
    /** Added to `configurable` by the server: headers and the caller. */
    readonly caller: JsonObject;
  };
}
