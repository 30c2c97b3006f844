import { inTransaction, type Connection, type Pool } from '#lib/postgres';
import type { Scope, WorkerScope } from './scope.js';
import { EVERY_ROW } from './sql-filter.js';
import { Turns } from './turns.js';

/** One statement; with a name it is planned once for each connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

type Row = Record<string, unknown>;

interface Answer<R> {
  readonly rows: R[];
  readonly rowCount: number | null;
}

/** Transactions at once: each holds a connection and may need a second one, so they must never hold all. */
const MAX_TRANSACTIONS = 2;

/**
 * The one door to the database. A statement says on whose behalf it speaks; there is no way around it, since nothing
 * else holds the pool.
 */
export class Sql {
  readonly #pool: Pool;
  readonly #connection: Connection | undefined;
  readonly #turns: Turns;

  constructor(pool: Pool, connection?: Connection) {
    this.#pool = pool;
    this.#connection = connection;
    this.#turns = new Turns(Math.max(1, Math.min(MAX_TRANSACTIONS, pool.options.max - 1)));
  }

  /** A statement of the server's own work. */
  asWorker<R extends object = Row>(_scope: WorkerScope, statement: Statement): Promise<Answer<R>> {
    return this.#query(statement);
  }

  /**
   * A statement that a caller may ask for. Its parameter `$1` is the filter of the scope and the given values begin at
   * `$2`: Postgres refuses a statement that leaves `$1` out, so a forgotten filter fails at the first call.
   */
  inScope<R extends object = Row>(scope: Scope, { name, text, values = [] }: Statement): Promise<Answer<R>> {
    const filter = scope.kind === 'worker' ? EVERY_ROW : scope.filter;
    const statement = { text, values: [filter.alternatives, ...values] };
    return this.#query(name === undefined ? statement : { name, ...statement });
  }

  #query<R extends object>(statement: Statement): Promise<Answer<R>> {
    return (this.#connection ?? this.#pool).query<R>(statement);
  }

  /** Statements of `work` are performed whole or not at all. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#connection) return work(this);
    return this.#turns.take(() =>
      inTransaction(this.#pool, (connection) => work(new Sql(this.#pool, connection))),
    );
  }

  /**
   * The pool, for the public checkpointer alone, which reads by thread id and knows no scope: only `store/checkpoint`
   * asks for it, once it has seen the thread under the scope.
   */
  poolOfCheckpointer(_scope: Scope): Pool {
    return this.#pool;
  }
}
