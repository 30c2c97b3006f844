import type { JsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { withWireTimes } from './wire-time.js';

/** One version of a configured graph, as the wire shows it. */
export interface WireAssistantVersion {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly metadata: JsonObject;
  readonly version: number;
  readonly created_at: string;
}

/** A configured graph, as the wire shows it. */
export interface WireAssistant extends WireAssistantVersion {
  readonly updated_at: string;
}

export interface AssistantRow extends Omit<WireAssistant, 'created_at' | 'updated_at'> {
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Columns that a version keeps beside its number and time. */
export const VERSIONED_COLUMNS =
  'assistant_id, graph_id, name, description, config, context, metadata, version';

export const ASSISTANT_COLUMNS = `${VERSIONED_COLUMNS}, created_at, updated_at`;

/** A part of a statement whose part `made` holds rows of assistants: their versions are kept with them. */
export const KEEP_VERSIONS = `kept AS (INSERT INTO agentplane.assistant_versions (${VERSIONED_COLUMNS})
      SELECT ${VERSIONED_COLUMNS} FROM made ON CONFLICT DO NOTHING)`;

export function wireAssistant(row: AssistantRow): WireAssistant {
  return withWireTimes(row);
}

export function assistantNotFound(assistantId: string): PublicError {
  return new PublicError('not_found', `Assistant ${assistantId} not found`);
}
