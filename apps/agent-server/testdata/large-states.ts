import { join } from 'node:path';
import { openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { GAUGED } from './loop-gauge.js';
import { ServerProcess } from './start-server.js';

const TALKING_AGENT = join(import.meta.dirname, 'talking-agent');

/** Some 30 MB as the wire shows them, with a million and a half values. */
export const MESSAGES = 110_000;

export interface Sent {
  readonly status: number;
  readonly bytes: number;
  readonly first: string;
}

/** A server whose database holds threads and a run with large values; usable inside tests and hooks. */
export interface LargeStates {
  readonly server: ServerProcess;
  /** Ids of threads, of a task and of a run with such values. */
  readonly id: Readonly<Record<'task' | 'thread' | 'foreign' | 'run' | 'waiting', string>>;
  /** Sends a request, and drops its answer as it comes. */
  send(method: string, path: string, body?: unknown, headers?: object): Promise<Sent>;
  /** Sends a request whose answer is small. */
  ask(method: string, path: string, body?: unknown, headers?: object): Promise<unknown>;
}

export const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

export function largeValues(): string {
  const message = (n: number): object => ({
    type: n % 2 === 0 ? 'human' : 'ai',
    id: `message-${n}`,
    content: `text ${n} ${'x'.repeat(120)}`,
    additional_kwargs: {},
    response_metadata: { tokens: n },
    tool_calls: [],
  });
  return JSON.stringify({
    messages: Array.from({ length: MESSAGES }, (_none, n) => message(n)),
    topic: 'one',
  });
}

/** Registers the server with Jest. */
export function largeStates(): LargeStates {
  const postgres = testPostgres();
  const id = { task: '', thread: '', foreign: '', run: '', waiting: '' };
  let server: ServerProcess;

  const send: LargeStates['send'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    let bytes = 0;
    let first = '';
    for await (const chunk of response.body ?? []) {
      if (first.length < 300) first += Buffer.from(chunk).toString();
      bytes += chunk.length;
    }
    return { status: response.status, bytes, first: first.slice(0, 300) };
  };

  const ask: LargeStates['ask'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.status).toBe(200);
    return response.json();
  };

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    server = await ServerProcess.start({ uri, folder: TALKING_AGENT, env: GAUGED });
    const values = largeValues();
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
    const task = (await ask('POST', '/a2a/echo', rpc('message/send', { message }))) as {
      result: { id: string; contextId: string };
    };
    id.task = task.result.id;
    id.thread = task.result.contextId;
    for (const name of ['foreign', 'waiting'] as const) {
      const thread = (await ask('POST', '/threads', {})) as { thread_id: string };
      id[name] = thread.thread_id;
    }
    const made = (await ask('POST', `/threads/${id.waiting}/runs/wait`, {
      assistant_id: 'echo',
      input: { messages: [] },
    }).then(() => ask('GET', `/threads/${id.waiting}/runs`))) as [{ run_id: string }];
    id.run = made[0].run_id;
    const pool = openPool({ uri, applicationName: 'test', log: createLogger('test', 'silent') });
    await pool.query(`UPDATE agentplane.threads SET values = $1 WHERE thread_id IN ($2, $3)`, [
      values,
      id.thread,
      id.foreign,
    ]);
    await pool.query(
      `UPDATE agentplane.threads SET status = 'interrupted', interrupts = $1 WHERE thread_id = $2`,
      [`{"task":[{"id":"asked","value":${values}}]}`, id.waiting],
    );
    await pool.query(`UPDATE agentplane.runs SET kwargs = $1, outline = NULL WHERE run_id = $2`, [
      `{"input":${values},"stream_mode":["values"],"subgraphs":false,"caller":{"secret":"token"}}`,
      id.run,
    ]);
    await pool.end();
  });
  afterAll(() => server?.stop());

  return {
    get server() {
      return server;
    },
    id,
    send,
    ask,
  };
}
