import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../scope.js';
import { withWireTimes } from './run-row.js';

/** Search for assistants, or for their number. */
export interface AssistantSearch {
  readonly graphId?: string | undefined;
  /** Part of the name, in any case. */
  readonly name?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  /** True where the graphs' own assistants are found even outside of the scope. */
  readonly findsSystem?: boolean;
}

/** The conditions of a search, the scope's first; their values are `$2` to `$5`. */
export const ASSISTANT_CONDITIONS = `(system AND $5 OR ${visible('metadata')}) AND ($2::text IS NULL OR graph_id = $2)
      AND metadata @> $3::jsonb AND ($4::text IS NULL OR position(lower($4) IN lower(name)) > 0)`;

export function assistantConditionValues(search: AssistantSearch): unknown[] {
  const { graphId, name, metadata, findsSystem = false } = search;
  return [graphId ?? null, jsonbText(metadata ?? {}), name ?? null, findsSystem];
}

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

export const INSERT_VERSIONS = `INSERT INTO agentplane.assistant_versions (${VERSIONED_COLUMNS})
      SELECT ${VERSIONED_COLUMNS} FROM made`;

/** A part of a statement whose part `made` holds rows of assistants: their versions are kept with them. */
export const KEEP_VERSIONS = `kept AS (${INSERT_VERSIONS} ON CONFLICT DO NOTHING)`;

export function wireAssistant(row: AssistantRow): WireAssistant {
  return withWireTimes(row);
}

export function assistantNotFound(assistantId: string): PublicError {
  return new PublicError('not_found', `Assistant not found: ${assistantId}`);
}
