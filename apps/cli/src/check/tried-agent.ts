import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';

const PROGRAM = join(INSTALLATION, 'dist', 'apps', 'agent-server', 'src', 'main.js');

/** Findings about one graph. */
export interface TriedGraph {
  readonly graph: string;
  readonly nodes: readonly string[];
  /** Fields of its input, as a form would show them. */
  readonly input: readonly string[];
  /** `answers`, `asks a person`, or the error of its run. */
  readonly run: string;
  readonly succeeds: boolean;
}

/** An agent server of its own for one folder, until it is stopped. */
export class TriedAgent {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  /** @throws Error with the reason for which it does not start */
  static async start(folder: string, environment: Readonly<Record<string, string>>): Promise<TriedAgent> {
    const child = spawn(process.execPath, [PROGRAM], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: wholeEnvironment({ HOST: '127.0.0.1', PORT: '0', AGENTPLANE_AUTH: 'off', ...environment }),
    });
    let last = '';
    const started = Promise.withResolvers<number>();
    const lines = createInterface({ input: child.stderr });
    lines.on('line', (line) => {
      const entry: unknown = line.startsWith('{') ? parseJson(line) : undefined;
      if (!isJsonObject(entry)) return;
      if (entry['msg'] === 'ready') started.resolve(Number(entry['port']));
      if (entry['level'] === 'error') last = textOf(entry['error'] ?? entry['err'] ?? entry['msg']);
    });
    lines.on('close', () => started.reject(new Error(last)));
    child.on('error', started.reject);
    return new TriedAgent(child, `http://127.0.0.1:${await started.promise}`);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }

  /** Draws a graph, reads its schemas and runs it once. */
  async tryGraph(graph: string): Promise<TriedGraph> {
    const drawing = await this.#ask(`/assistants/${graph}/graph`);
    const schemas = await this.#ask(`/assistants/${graph}/schemas`);
    const nodes = Array.isArray(drawing['nodes']) ? drawing['nodes'].filter(isJsonObject) : [];
    const { input_schema: schema, context_schema: context } = schemas;
    const given = fieldsIn(context).length > 0 ? { context: valueOf(context) } : {};
    const ended = await this.#ask('/runs/wait', { assistant_id: graph, input: inputOf(schema), ...given });
    const { __error__: error, __interrupt__: interrupts } = ended;
    const run = isJsonObject(error)
      ? `${textOf(error['error'])}: ${textOf(error['message'])}`
      : interrupts === undefined
        ? 'answers'
        : 'asks a person';
    return {
      graph,
      nodes: nodes.map(({ id }) => textOf(id)),
      input: fieldsIn(schema),
      run,
      succeeds: !isJsonObject(error),
    };
  }

  async #ask(path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = await fetch(`${this.url}${path}`, {
      method: body ? 'POST' : 'GET',
      ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
    });
    const read: unknown = parseJson(await answer.text());
    if (isJsonObject(read))
      return answer.ok
        ? read
        : { __error__: { error: `HTTP ${answer.status}`, message: textOf(read['detail']) } };
    return {};
  }
}

function fieldsIn(schema: unknown): readonly string[] {
  return isJsonObject(schema) && isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : [];
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) && typeof value['message'] === 'string'
    ? value['message']
    : JSON.stringify(value ?? '');
}

const MAX_DEPTH = 8;

/** A small value that fits a JSON Schema, for graphs and tools that are called without a person or a model. */
export function valueOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return null;
  const at = (next: unknown): unknown => valueOf(next, root, depth + 1);
  const { $ref: ref, const: only, enum: values, default: fallback } = schema;
  if (typeof ref === 'string') return at(resolved(ref, root));
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  const choices = [schema['anyOf'], schema['oneOf']].find(Array.isArray);
  if (choices) return at(choices.find((one) => !isJsonObject(one) || one['type'] !== 'null'));
  if (Array.isArray(schema['allOf'])) return at(Object.assign({}, ...schema['allOf']));
  const { type = 'properties' in schema ? 'object' : undefined } = schema;
  switch (Array.isArray(type) ? type.find((one) => one !== 'null') : type) {
    case 'object':
      return objectOf(schema, at);
    case 'array':
      return schema['items'] === undefined ? [] : [at(schema['items'])];
    case 'string':
      return stringOf(schema);
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
    case 'boolean':
      return true;
    default:
      return fallback ?? null;
  }
}

function resolved(ref: string, root: unknown): unknown {
  let at = root;
  for (const step of ref.replace(/^#\/?/, '').split('/').filter(Boolean))
    at = isJsonObject(at)
      ? at[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')]
      : undefined;
  return at;
}

function objectOf({ properties }: JsonObject, at: (schema: unknown) => unknown): JsonObject {
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(entries.map(([name, one]) => [name, at(one)]));
}

function stringOf({ format, minLength }: JsonObject): string {
  if (format === 'date-time') return '2026-01-02T03:04:05Z';
  if (format === 'date') return '2026-01-02';
  if (format === 'uri') return 'https://example.com/';
  return 'example'.padEnd(typeof minLength === 'number' ? minLength : 0, '.');
}

/** An input of a graph that fits its schema; a person's message where it takes messages. */
export function inputOf(schema: unknown): JsonObject {
  const made = valueOf(isJsonObject(schema) ? { type: 'object', ...schema } : {});
  const input = isJsonObject(made) ? made : {};
  const entries = Object.entries(input).map(([name, value]) => [name, value ?? 'example']);
  const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
  return {
    ...(Object.fromEntries(entries) as JsonObject),
    ...(Object.hasOwn(input, 'messages') ? { messages } : {}),
  };
}
