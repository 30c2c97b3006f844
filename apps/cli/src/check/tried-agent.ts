import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { inputOf } from './schema-value.js';

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
      last = textOf(entry['error'] ?? entry['err'] ?? entry['msg']);
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
    const { input_schema: schema } = schemas;
    const fields = isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {};
    const ended = await this.#ask('/runs/wait', { assistant_id: graph, input: inputOf(schema) });
    const { __error__: error, __interrupt__: interrupts } = ended;
    const run = isJsonObject(error)
      ? `${textOf(error['error'])}: ${textOf(error['message'])}`
      : interrupts === undefined
        ? 'answers'
        : 'asks a person';
    return {
      graph,
      nodes: nodes.map(({ id }) => textOf(id)),
      input: Object.keys(fields),
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

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) && typeof value['message'] === 'string'
    ? value['message']
    : JSON.stringify(value ?? '');
}
