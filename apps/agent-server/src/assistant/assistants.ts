import { createHash } from 'node:crypto';
import { PublicError } from '#lib/errors';
import type { JsonObject } from '#lib/json';
import { isUuid } from '#lib/resources';
import type { DescribedGraphs } from '../graph/graph-schemas.js';
import {
  type AssistantChange,
  chooseAssistantVersion,
  ensureSystemAssistant,
  findAssistant,
  listAssistantVersions,
  patchAssistant,
  removeAssistant,
  type VersionPage,
} from '../store/statement/assistants.js';
import {
  assistantNotFound,
  type WireAssistant,
  type WireAssistantVersion,
} from '../store/row/assistant-row.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { removeThread } from '../store/statement/change-thread.js';
import { listThreadIds } from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';

/** A uuid that follows from a name (version 5). @param namespace uuid of the kind of names */
export function nameBasedId(namespace: string, name: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString('hex', 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Namespace of the ids that graphs have as assistants, fixed by the wire. */
const SYSTEM_NAMESPACE = '6ba7b821-9dad-11d1-80b4-00c04fd430c8';

/** The uuid of a graph's own assistant. */
export function systemAssistantId(graphId: string): string {
  return nameBasedId(SYSTEM_NAMESPACE, graphId);
}

/** Configuration and context that the own assistant of a graph gives its runs. */
export interface GraphDefault {
  readonly config: JsonObject;
  readonly context: JsonObject;
}

/** Assistants by id or by graph: each graph has one (`created_by: system`), callers make more. */
export class Assistants {
  /**
   * Assistants of this revision's graphs, by id; they never change while it runs, and every caller may use
   * them.
   */
  readonly #system = new Map<string, WireAssistant>();
  /** The same by graph: requests mostly name these, and an id is a hash of the name. */
  readonly #ofGraphs = new Map<string, WireAssistant>();

  constructor(private readonly sql: Sql) {}

  /** Makes sure that every graph has its assistant; before any other call. */
  async ensure(
    graphIds: readonly string[],
    described: Pick<DescribedGraphs, 'descriptionOf'>,
    defaults: ReadonlyMap<string, GraphDefault>,
  ): Promise<void> {
    for (const graphId of graphIds) {
      const { config = {}, context = {} } = defaults.get(graphId) ?? {};
      const made = await ensureSystemAssistant(WORKER, this.sql, {
        assistantId: systemAssistantId(graphId),
        graphId,
        description: described.descriptionOf(graphId),
        config,
        context,
      });
      if (!made) continue;
      this.#system.set(made.assistant_id, made);
      this.#ofGraphs.set(graphId, made);
    }
  }

  /**
   * @param idOrGraph uuid of an assistant, or the name of a graph
   * @throws PublicError `not_found`
   */
  async get(scope: Scope, idOrGraph: string): Promise<WireAssistant> {
    const found = await this.find(scope, idOrGraph);
    if (!found) throw assistantNotFound(idOrGraph);
    return found;
  }

  /**
   * The assistant that a run names. A graph's own belongs to every caller; any other needs its scope.
   * @throws PublicError `not_found`
   */
  async forRun(
    idOrGraph: string,
    scopeFor: (assistantId: string) => Scope | Promise<Scope>,
  ): Promise<WireAssistant> {
    const found = await this.findForRun(idOrGraph, scopeFor);
    if (found) return found;
    const advice = 'name a graph, or an assistant by its id';
    throw new PublicError('not_found', `No assistant found for "${idOrGraph}"; ${advice}`);
  }

  /** The same; undefined when there is none. */
  async findForRun(
    idOrGraph: string,
    scopeFor: (assistantId: string) => Scope | Promise<Scope>,
  ): Promise<WireAssistant | undefined> {
    return this.#ofGraph(idOrGraph) ?? this.find(await scopeFor(idOrGraph), idOrGraph);
  }

  /** An assistant that every caller may use: a graph's own. */
  #ofGraph(idOrGraph: string): WireAssistant | undefined {
    return isUuid(idOrGraph) ? this.#system.get(idOrGraph.toLowerCase()) : this.#ofGraphs.get(idOrGraph);
  }

  /** @param idOrGraph uuid of an assistant, or the name of a graph */
  async find(scope: Scope, idOrGraph: string): Promise<WireAssistant | undefined> {
    const known = this.#ofGraph(idOrGraph);
    return known || !isUuid(idOrGraph) ? known : findAssistant(scope, this.sql, idOrGraph.toLowerCase());
  }

  /**
   * Removes an assistant.
   * @param ofThreads first removes those of its threads that this scope reaches: leftovers of a crash can be
   *   removed again
   * @throws PublicError `not_found`, `bad_request` for a graph's own assistant
   */
  async remove(scope: Scope, idOrGraph: string, ofThreads: Scope | undefined): Promise<void> {
    const id = await this.#own(scope, idOrGraph, 'deleted');
    while (ofThreads) {
      const threads = await listThreadIds(ofThreads, this.sql, { metadata: { assistant_id: id } }, 100);
      if (threads.length === 0) break;
      for (const threadId of threads) await removeThread(ofThreads, this.sql, threadId);
    }
    if (!(await removeAssistant(scope, this.sql, id))) throw assistantNotFound(id);
  }

  /**
   * Makes a new version.
   * @throws PublicError `not_found`, `bad_request` for a graph's own assistant, `forbidden` (scope)
   */
  async patch(scope: Scope, idOrGraph: string, change: AssistantChange): Promise<WireAssistant> {
    return patchAssistant(scope, this.sql, await this.#own(scope, idOrGraph, 'changed'), change);
  }

  /** @throws PublicError `not_found` */
  async versions(scope: Scope, idOrGraph: string, page: VersionPage): Promise<WireAssistantVersion[]> {
    const { assistant_id: id } = await this.get(scope, idOrGraph);
    return listAssistantVersions(scope, this.sql, id, page);
  }

  /** @throws PublicError `not_found`, `bad_request` for a graph's own assistant */
  async choose(scope: Scope, idOrGraph: string, version: number): Promise<WireAssistant> {
    const id = await this.#own(scope, idOrGraph, 'changed');
    const chosen = await chooseAssistantVersion(scope, this.sql, id, version);
    if (!chosen) throw new PublicError('not_found', `Assistant ${id} has no version ${version}`);
    return chosen;
  }

  /** The id of an assistant that a caller made. */
  async #own(scope: Scope, idOrGraph: string, deed: string): Promise<string> {
    const { assistant_id: id } = await this.get(scope, idOrGraph);
    if (this.#system.has(id))
      throw new PublicError(
        'bad_request',
        `Assistant ${id} belongs to a graph and cannot be ${deed}; create one of the graph for settings of your own`,
      );
    return id;
  }
}
