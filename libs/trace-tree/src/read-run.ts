/** A run as `POST /runs/query` answers it with `RUN_FIELDS`. */
export interface ReadRun {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id: string | null;
  /** True when it is shown as the root of its trace, since its parent was not received. */
  readonly parent_missing?: boolean;
  readonly name: string;
  readonly run_type: string;
  readonly status: 'pending' | 'success' | 'error' | 'interrupted';
  /** RFC 3339. */
  readonly start_time: string;
  readonly end_time: string | null;
  /** Seconds; null while it lasts. */
  readonly latency: number | null;
  readonly total_tokens: number;
  /** A decimal; null where nothing is known. */
  readonly total_cost: string | null;
  readonly thread_id: string | null;
  readonly tags: readonly string[];
  readonly error: string | null;
  readonly dotted_order: string;
}

/** Fields for `select`. */
export const RUN_FIELDS: readonly string[] = [
  'id',
  'trace_id',
  'parent_run_id',
  'parent_missing',
  'name',
  'run_type',
  'status',
  'start_time',
  'end_time',
  'latency',
  'total_tokens',
  'total_cost',
  'thread_id',
  'tags',
  'error',
  'dotted_order',
];
