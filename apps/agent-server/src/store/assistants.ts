import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import { jsonbText } from './json-text.js';

type Json = Readonly<Record<string, unknown>>;

/** A configured graph, as the wire shows it. */
export interface WireAssistant {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: Json;
  readonly context: Json;
  readonly metadata: Json;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

interface AssistantColumns extends Omit<WireAssistant, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
}

export interface NewAssistant {
  readonly assistantId: string;
  readonly graphId: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly config: Json;
  readonly context: Json;
  readonly metadata: Json;
}

/** Namespace of the ids that graphs have as assistants, fixed by the wire. */
const SYSTEM_NAMESPACE = '6ba7b821-9dad-11d1-80b4-00c04fd430c8';

const COLUMNS =
  'assistant_id, graph_id, name, description, config, context, metadata, version, created_at, updated_at';

/** The name-based uuid (version 5) of a graph's own assistant. */
export function systemAssistantId(graphId: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(SYSTEM_NAMESPACE.replaceAll('-', ''), 'hex'))
    .update(graphId)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function wireAssistant(row: AssistantColumns): WireAssistant {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}

/** Assistants: each graph has one of its own (`created_by: system`), callers make more. */
export class Assistants {
  /** Those of this revision's graphs, by id; they never change while it runs. */
  readonly #system = new Map<string, WireAssistant>();

  constructor(private readonly pool: Pool) {}

  /** Makes sure that every graph has its assistant. */
  async ensureSystem(graphIds: readonly string[]): Promise<void> {
    for (const graphId of graphIds) {
      const { rows } = await this.pool.query<AssistantColumns>(
        `INSERT INTO agentplane.assistants (assistant_id, graph_id, name, metadata)
         VALUES ($1, $2, $2, '{"created_by": "system"}')
         ON CONFLICT (assistant_id) DO UPDATE SET graph_id = EXCLUDED.graph_id RETURNING ${COLUMNS}`,
        [systemAssistantId(graphId), graphId],
      );
      if (rows[0]) this.#system.set(rows[0].assistant_id, wireAssistant(rows[0]));
    }
  }

  /**
   * @param idOrGraph uuid of an assistant, or the name of a graph
   * @throws PublicError `not_found`
   */
  async get(idOrGraph: string): Promise<WireAssistant> {
    const found = await this.find(idOrGraph);
    if (!found) throw new PublicError('not_found', `Assistant ${idOrGraph} not found`);
    return found;
  }

  /** @param idOrGraph uuid of an assistant, or the name of a graph */
  async find(idOrGraph: string): Promise<WireAssistant | undefined> {
    const id = isUuid(idOrGraph) ? idOrGraph.toLowerCase() : systemAssistantId(idOrGraph);
    const known = this.#system.get(id);
    if (known) return known;
    const { rows } = await this.pool.query<AssistantColumns>(
      `SELECT ${COLUMNS} FROM agentplane.assistants WHERE assistant_id = $1`,
      [id],
    );
    return rows[0] && isUuid(idOrGraph) ? wireAssistant(rows[0]) : undefined;
  }

  async search(
    filter: { graphId: string | undefined; name: string | undefined; metadata: Json | undefined },
    page: { limit: number; offset: number },
  ): Promise<WireAssistant[]> {
    const { rows } = await this.pool.query<AssistantColumns>(
      `SELECT ${COLUMNS} FROM agentplane.assistants
       WHERE ($1::text IS NULL OR graph_id = $1) AND metadata @> $2::jsonb
         AND ($3::text IS NULL OR position(lower($3) IN lower(name)) > 0)
       ORDER BY created_at DESC, assistant_id LIMIT $4 OFFSET $5`,
      [
        filter.graphId ?? null,
        jsonbText(filter.metadata ?? {}),
        filter.name ?? null,
        page.limit,
        page.offset,
      ],
    );
    return rows.map(wireAssistant);
  }

  /** @throws PublicError `conflict` when the id is taken and that is not wanted */
  async create(assistant: NewAssistant, ifExists: 'raise' | 'do_nothing'): Promise<WireAssistant> {
    const { rows } = await this.pool.query<AssistantColumns>(
      `INSERT INTO agentplane.assistants (assistant_id, graph_id, name, description, config, context, metadata)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [
        assistant.assistantId,
        assistant.graphId,
        assistant.name,
        assistant.description ?? null,
        jsonbText(assistant.config),
        jsonbText(assistant.context),
        jsonbText(assistant.metadata),
      ],
    );
    if (rows[0]) return wireAssistant(rows[0]);
    if (ifExists === 'raise')
      throw new PublicError('conflict', `Assistant ${assistant.assistantId} exists already`);
    return this.get(assistant.assistantId);
  }

  /** @throws PublicError `not_found`, `bad_request` for a graph's own assistant */
  async remove(assistantId: string): Promise<void> {
    if (this.#system.has(assistantId))
      throw new PublicError('bad_request', 'The assistant of a graph cannot be deleted');
    const { rowCount } = await this.pool.query('DELETE FROM agentplane.assistants WHERE assistant_id = $1', [
      assistantId,
    ]);
    if (rowCount === 0) throw new PublicError('not_found', `Assistant ${assistantId} not found`);
  }
}
