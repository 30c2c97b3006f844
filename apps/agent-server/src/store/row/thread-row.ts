import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { withWireTimes } from './wire-time.js';

/** A thread as the wire shows it. */
export interface WireThread {
  readonly thread_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly state_updated_at: string;
  readonly metadata: JsonObject;
  readonly status: 'idle' | 'busy' | 'interrupted' | 'error';
  readonly config: JsonObject;
  readonly values: unknown;
  readonly interrupts: JsonObject;
  readonly error: unknown;
}

export interface ThreadRow extends Omit<WireThread, 'created_at' | 'updated_at' | 'state_updated_at'> {
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly state_updated_at: Date;
}

export const THREAD_COLUMNS =
  'thread_id, created_at, updated_at, state_updated_at, metadata, status, config, values, interrupts, error';

export function wireThread(row: ThreadRow): WireThread {
  return { ...withWireTimes(row), state_updated_at: row.state_updated_at.toISOString() };
}

export function threadNotFound(threadId: string): PublicError {
  return new PublicError('not_found', `Thread ${threadId} not found`);
}
