import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { jsonbText, jsonText } from '../json-text.js';
import { visible } from '../scope.js';
import { withWireTimes } from './run-row.js';

/** Limit of the payload that each run of a cron is given: it is kept and read again and again. */
const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** JSON text of a cron's payload. @throws PublicError `too_large` */
export function payloadText(payload: JsonObject): string {
  const text = jsonText(payload);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_PAYLOAD_BYTES) return text;
  throw new PublicError(
    'too_large',
    `The input, config and context of a cron have ${bytes} bytes, and ${MAX_PAYLOAD_BYTES} is the most; keep large values in the store, and name them`,
  );
}

/** Search for crons, or for their number. */
export interface CronSearch {
  readonly assistantId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The conditions of a search on a cron `c`, the scope's first: its values are `$2` to `$5`. */
export const CRON_CONDITIONS = `${visible('c.metadata')} AND ($2::uuid IS NULL OR c.assistant_id = $2)
  AND ($3::uuid IS NULL OR c.thread_id = $3) AND ($4::boolean IS NULL OR c.enabled = $4)
  AND ($5::jsonb IS NULL OR c.metadata @> $5)`;

export function cronValues({ assistantId, threadId, enabled, metadata }: CronSearch): unknown[] {
  return [assistantId ?? null, threadId ?? null, enabled ?? null, metadata ? jsonbText(metadata) : null];
}

/** Times at which a cron fires, as its owner wrote them. */
export interface CronTiming {
  /** Five fields, six with seconds first, or a nickname such as `@daily`. */
  readonly schedule: string;
  /** IANA name; UTC without one. */
  readonly timezone: string | undefined;
  readonly endTime: Date | undefined;
}

/** A cron as the wire shows it. */
export interface WireCron {
  readonly cron_id: string;
  readonly assistant_id: string;
  readonly thread_id: string | null;
  readonly on_run_completed: 'delete' | 'keep';
  readonly schedule: string;
  readonly timezone: string | null;
  readonly end_time: string | null;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly payload: JsonObject;
  readonly user_id: string | null;
  readonly metadata: JsonObject;
  readonly next_run_date: string | null;
  readonly last_run_date: string | null;
  readonly last_run_id: string | null;
  readonly last_error: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

type Moment = 'end_time' | 'next_run_date' | 'last_run_date';

export interface CronRow extends Omit<WireCron, Moment | 'created_at' | 'updated_at'> {
  readonly end_time: Date | null;
  readonly next_run_date: Date | null;
  readonly last_run_date: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Columns of a cron `c`. */
export const CRON_COLUMNS = `c.cron_id, c.assistant_id, c.thread_id, c.on_run_completed, c.schedule, c.timezone, c.end_time,
  c.enabled, c.disabled_reason, c.payload, c.user_id, c.metadata, c.next_run_date, c.last_run_date, c.last_run_id,
  c.last_error, c.created_at, c.updated_at`;

export function wireCron(row: CronRow): WireCron {
  return {
    ...withWireTimes(row),
    end_time: row.end_time?.toISOString() ?? null,
    next_run_date: row.next_run_date?.toISOString() ?? null,
    last_run_date: row.last_run_date?.toISOString() ?? null,
  };
}

export function cronNotFound(cronId: string): PublicError {
  return new PublicError('not_found', `Cron ${cronId} not found`);
}
