import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import { ensureSystemAssistant } from '../store/assistant/ensure-system-assistant.js';
import { findAssistant } from '../store/assistant/find-assistant.js';
import { removeAssistant } from '../store/assistant/remove-assistant.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import { systemAssistantId } from './system-assistant-id.js';

/** Assistants by id or by graph: each graph has one of its own (`created_by: system`), callers make more. */
export class Assistants {
  /** Those of this revision's graphs, by id; they never change while it runs, and every caller may use them. */
  readonly #system = new Map<string, WireAssistant>();

  constructor(private readonly sql: Sql) {}

  /** Makes sure that every graph has its assistant; before any other call. */
  async ensure(graphIds: readonly string[]): Promise<void> {
    for (const graphId of graphIds) {
      const made = await ensureSystemAssistant(WORKER, this.sql, systemAssistantId(graphId), graphId);
      if (made) this.#system.set(made.assistant_id, made);
    }
  }

  /**
   * @param idOrGraph uuid of an assistant, or the name of a graph
   * @throws PublicError `not_found`
   */
  async get(scope: Scope, idOrGraph: string): Promise<WireAssistant> {
    const found = await this.find(scope, idOrGraph);
    if (!found) throw new PublicError('not_found', `Assistant ${idOrGraph} not found`);
    return found;
  }

  /** @param idOrGraph uuid of an assistant, or the name of a graph */
  async find(scope: Scope, idOrGraph: string): Promise<WireAssistant | undefined> {
    const hasId = isUuid(idOrGraph);
    const id = hasId ? idOrGraph.toLowerCase() : systemAssistantId(idOrGraph);
    const known = this.#system.get(id);
    if (known || !hasId) return known;
    return findAssistant(scope, this.sql, id);
  }

  /** @throws PublicError `not_found`, `bad_request` for a graph's own assistant */
  async remove(scope: Scope, idOrGraph: string): Promise<void> {
    const { assistant_id: id } = await this.get(scope, idOrGraph);
    if (this.#system.has(id))
      throw new PublicError('bad_request', `Assistant ${id} belongs to a graph and cannot be deleted`);
    if (!(await removeAssistant(scope, this.sql, id)))
      throw new PublicError('not_found', `Assistant ${id} not found`);
  }
}
