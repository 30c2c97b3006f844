import { isJsonObject, type JsonObject } from '#lib/json';
import type { Assistants } from '../assistant/assistants.js';
import type { DescribedGraphs } from '../graph/graph-schemas.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import type { Scope } from '../store/scope.js';

/** An assistant as other agents see it. */
export interface Agent {
  readonly assistant: WireAssistant;
  readonly description: string;
  /** True when its state has `messages`, without which it cannot talk. */
  readonly canTalk: boolean;
  /** Keys that its input may hold; undefined when the graph does not declare them. */
  readonly inputKeys: ReadonlySet<string> | undefined;
  /** JSON Schema of its input; undefined when the graph does not declare it. */
  readonly inputSchema: JsonObject | undefined;
}

type Reading = Pick<Agent, 'canTalk' | 'inputKeys' | 'inputSchema'>;

function keysOf(schema: unknown): string[] | undefined {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  return isJsonObject(properties) ? Object.keys(properties) : undefined;
}

/** Assistants as agents. The schemas of a graph are read once. */
export class Agents {
  readonly #readings = new Map<string, Promise<Reading>>();

  constructor(
    private readonly assistants: Assistants,
    private readonly graphs: DescribedGraphs,
  ) {}

  /** @throws PublicError `not_found` */
  async get(scope: Scope, idOrGraph: string): Promise<Agent> {
    return this.#describe(await this.assistants.get(scope, idOrGraph));
  }

  /**
   * The agent of a task.
   * @param scopeFor scope for an assistant that a caller made
   * @throws PublicError `not_found`
   */
  async forTask(
    idOrGraph: string,
    scopeFor: (assistantId: string) => Scope | Promise<Scope>,
  ): Promise<Agent> {
    return this.#describe(await this.assistants.forRun(idOrGraph, scopeFor));
  }

  async #describe(assistant: WireAssistant): Promise<Agent> {
    const { graph_id: graphId, description } = assistant;
    return {
      assistant,
      description: description ?? this.graphs.descriptionOf(graphId) ?? `The agent "${assistant.name}"`,
      ...(await this.#reading(graphId)),
    };
  }

  #reading(graphId: string): Promise<Reading> {
    let reading = this.#readings.get(graphId);
    if (!reading) {
      reading = this.#read(graphId);
      this.#readings.set(graphId, reading);
      reading.catch(() => this.#readings.delete(graphId)); // a factory may work the next time
    }
    return reading;
  }

  async #read(graphId: string): Promise<Reading> {
    const schemas = await this.graphs.schemasOf(graphId);
    const input = keysOf(schemas.input_schema);
    const known = [...(input ?? []), ...(keysOf(schemas.state_schema) ?? [])];
    return {
      canTalk: known.includes('messages'),
      inputKeys: input && new Set(input),
      inputSchema: isJsonObject(schemas.input_schema) ? schemas.input_schema : undefined,
    };
  }
}
