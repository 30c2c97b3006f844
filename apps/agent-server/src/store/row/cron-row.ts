import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { withWireTimes } from './wire-time.js';

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
