import { CHANNEL } from '../channel.js';
import { OUTLINE } from './run-row.js';
import type { RunEnd } from './claimed-run.js';

/** Values above this are left out of the call; a receiver that wants them reads the thread. */
const MAX_VALUES_CHARS = 16 * 1024 * 1024;

/** Delivery state of a run's webhook, as the wire shows it. */
export interface WireWebhook {
  readonly url: string;
  /** `failed`: no attempt will follow. */
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  /** Reason for which the last attempt failed. */
  readonly last_error: string | null;
}

interface Parameters {
  readonly url: string;
  readonly status: string;
  readonly error: string;
  readonly values: string;
}

/** SQL: makes the call for a run `r` due; `FROM` and a condition follow. */
export function noteWebhook({ url, status, error, values }: Parameters): string {
  return `INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url, run, run_values, bytes)
    SELECT r.run_id, r.thread_id, r.temporary, r.metadata, ${url}::text,
      agentplane.run_for_webhook(r, ${status}::text, ${error}::json), ${values}::json,
      (${OUTLINE} ->> 'bytes')::bigint + coalesce(octet_length(${values}::json::text), 0)`;
}

/** SQL: ends such a statement. */
export const WAKE_WEBHOOKS = `ON CONFLICT DO NOTHING RETURNING pg_notify('${CHANNEL}', 'webhook:') AS woken`;

/** The values that a call may carry. */
export function webhookValues({ values }: Pick<RunEnd, 'values'>): string | null {
  return values !== undefined && values.length <= MAX_VALUES_CHARS ? values : null;
}
