import type { JsonObject } from '#lib/json';
import { withWireTimes } from './wire-time.js';

/** A configured graph, as the wire shows it. */
export interface WireAssistant {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly metadata: JsonObject;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface AssistantRow extends Omit<WireAssistant, 'created_at' | 'updated_at'> {
  readonly created_at: Date;
  readonly updated_at: Date;
}

export const ASSISTANT_COLUMNS =
  'assistant_id, graph_id, name, description, config, context, metadata, version, created_at, updated_at';

export function wireAssistant(row: AssistantRow): WireAssistant {
  return withWireTimes(row);
}
