import type { Pool, PoolClient } from 'pg';
import { PublicError } from '#lib/errors';
import { jsonbText, jsonText } from './json-text.js';
import { Turns } from './turns.js';

type Json = Readonly<Record<string, unknown>>;

/** A thread as the wire shows it. */
export interface WireThread {
  readonly thread_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly state_updated_at: string;
  readonly metadata: Json;
  readonly status: 'idle' | 'busy' | 'interrupted' | 'error';
  readonly config: Json;
  readonly values: unknown;
  readonly interrupts: Json;
  readonly error: unknown;
}

interface ThreadColumns extends Omit<WireThread, 'created_at' | 'updated_at' | 'state_updated_at'> {
  created_at: Date;
  updated_at: Date;
  state_updated_at: Date;
}

export interface ThreadFilter {
  readonly ids?: readonly string[] | undefined;
  readonly metadata?: Json | undefined;
  readonly status?: string | undefined;
  readonly values?: Json | undefined;
}

export interface ThreadPage {
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: 'thread_id' | 'status' | 'created_at' | 'updated_at' | 'state_updated_at';
  readonly isAscending: boolean;
}

/** What a change of the state from outside made of it. */
export interface ChangedState {
  /** JSON text. */
  readonly values: string;
  readonly status: 'idle' | 'interrupted';
  readonly interrupts: Json;
}

/** Threads that are had exclusively at once. */
const MAX_EXCLUSIVE = 2;

const COLUMNS =
  'thread_id, created_at, updated_at, state_updated_at, metadata, status, config, values, interrupts, error';

function wireThread(row: ThreadColumns): WireThread {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    state_updated_at: row.state_updated_at.toISOString(),
  };
}

function where(filter: ThreadFilter): { text: string; values: unknown[] } {
  const clauses: string[] = [];
  const values: unknown[] = [];
  function add(clause: (position: string) => string, value: unknown): void {
    values.push(value);
    clauses.push(clause(`$${values.length}`));
  }
  if (filter.ids) add((at) => `thread_id = ANY(${at}::uuid[])`, filter.ids);
  if (filter.metadata && Object.keys(filter.metadata).length > 0)
    add((at) => `metadata @> ${at}::jsonb`, jsonbText(filter.metadata));
  if (filter.status) add((at) => `status = ${at}`, filter.status);
  if (filter.values && Object.keys(filter.values).length > 0)
    add((at) => `agentplane.searchable(values) @> ${at}::jsonb`, jsonbText(filter.values));
  return { text: clauses.length > 0 ? `WHERE ${clauses.join(' AND ')}` : '', values };
}

function notFound(threadId: string): PublicError {
  return new PublicError('not_found', `Thread ${threadId} not found`);
}

/** Threads: conversations whose state is kept. */
export class Threads {
  /** Who has a thread to himself holds a connection and needs a second one: all must never be held at once. */
  readonly #turns: Turns;

  constructor(private readonly pool: Pool) {
    this.#turns = new Turns(Math.max(1, Math.min(MAX_EXCLUSIVE, pool.options.max - 1)));
  }

  /** @throws PublicError `conflict` when it exists and that is not wanted */
  async create(threadId: string, metadata: Json, ifExists: 'raise' | 'do_nothing'): Promise<WireThread> {
    const { rows } = await this.pool.query<ThreadColumns>(
      `INSERT INTO agentplane.threads (thread_id, metadata) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [threadId, jsonbText(metadata)],
    );
    if (rows[0]) return wireThread(rows[0]);
    if (ifExists === 'raise') throw new PublicError('conflict', `Thread ${threadId} exists already`);
    return this.get(threadId);
  }

  async find(threadId: string): Promise<WireThread | undefined> {
    const { rows } = await this.pool.query<ThreadColumns>(
      `SELECT ${COLUMNS} FROM agentplane.threads WHERE thread_id = $1`,
      [threadId],
    );
    return rows[0] && wireThread(rows[0]);
  }

  /** @throws PublicError `not_found` */
  async get(threadId: string): Promise<WireThread> {
    const thread = await this.find(threadId);
    if (!thread) throw notFound(threadId);
    return thread;
  }

  /** Merges metadata. @throws PublicError `not_found` */
  async patch(threadId: string, metadata: Json): Promise<WireThread> {
    const { rows } = await this.pool.query<ThreadColumns>(
      `UPDATE agentplane.threads SET metadata = metadata || $2::jsonb, updated_at = clock_timestamp()
       WHERE thread_id = $1 RETURNING ${COLUMNS}`,
      [threadId, jsonbText(metadata)],
    );
    if (!rows[0]) throw notFound(threadId);
    return wireThread(rows[0]);
  }

  /** Removes a thread with its runs and its state; a run at work loses its row and is thereby fenced. */
  async remove(threadId: string): Promise<void> {
    await this.exclusively(threadId, async (client) => {
      // The runs first: what a run at work writes meanwhile waits for us and then finds itself fenced
      await client.query('DELETE FROM agentplane.runs WHERE thread_id = $1', [threadId]);
      for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
        await client.query(`DELETE FROM agentplane.${table} WHERE thread_id = $1`, [threadId]);
      await client.query('DELETE FROM agentplane.threads WHERE thread_id = $1', [threadId]);
    });
  }

  async search(filter: ThreadFilter, page: ThreadPage): Promise<WireThread[]> {
    const { text, values } = where(filter);
    const { rows } = await this.pool.query<ThreadColumns>(
      `SELECT ${COLUMNS} FROM agentplane.threads ${text}
       ORDER BY ${page.sortBy} ${page.isAscending ? 'ASC' : 'DESC'}, thread_id
       LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
      [...values, page.limit, page.offset],
    );
    return rows.map(wireThread);
  }

  async count(filter: ThreadFilter): Promise<number> {
    const { text, values } = where(filter);
    const { rows } = await this.pool.query<{ count: string }>(
      `SELECT count(*) AS count FROM agentplane.threads ${text}`,
      values,
    );
    return Number(rows[0]?.count ?? 0);
  }

  /** Writes what a change of the state from outside made of it. */
  async setState(client: PoolClient, threadId: string, state: ChangedState): Promise<void> {
    await client.query(
      `UPDATE agentplane.threads SET values = $2, status = $3, resting_status = $3, interrupts = $4, error = NULL,
       updated_at = clock_timestamp(), state_updated_at = clock_timestamp() WHERE thread_id = $1`,
      [threadId, state.values, state.status, jsonText(state.interrupts)],
    );
  }

  /**
   * Does something while no run can begin on the thread.
   * @throws PublicError `not_found`
   */
  exclusively<T>(threadId: string, action: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#turns.take(() => this.#exclusively(threadId, action));
  }

  async #exclusively<T>(threadId: string, action: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const { rowCount } = await client.query(
        'SELECT 1 FROM agentplane.threads WHERE thread_id = $1 FOR UPDATE',
        [threadId],
      );
      if (rowCount === 0) throw notFound(threadId);
      const result = await action(client);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // A transaction that cannot be rolled back must not go back into the pool
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      );
      throw error;
    }
  }
}
