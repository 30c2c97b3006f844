import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import {
  type Connection,
  inLimitedTransaction,
  inTransaction,
  type Pool,
  sqlState,
  TimeLimitError,
} from '#lib/postgres';
import { type Scope, leftOf, type WorkerScope, EVERY_ROW } from './scope.js';

export interface TurnLimits {
  /** Actions at once. */
  readonly places: number;
  /** Waiting requests of one caller; another one is refused. */
  readonly maxWaiting: number;
  /** Name of the action, for the refusal. */
  readonly what: string;
  /** Actions of one caller at once, when the caller is known; all of them by default. */
  readonly placesPerCaller?: number;
}

/**
 * Bounds how many actions are performed at once; the others wait. The server's own work comes first, since no other program
 * continues its runs and crons; callers are served round-robin.
 */
export class Turns {
  readonly #admission: Admission;

  constructor(private readonly limits: TurnLimits) {
    const { places, placesPerCaller = places } = limits;
    this.#admission = new Admission({ capacity: places, perOwner: placesPerCaller });
  }

  /** True when no action is performed or waits. */
  get isIdle(): boolean {
    return this.#admission.held === 0;
  }

  /**
   * @param left ends the wait with its reason
   * @throws PublicError `unavailable` when too many requests of the caller wait already
   */
  async take<T>(scope: Scope, action: () => Promise<T>, left?: AbortSignal): Promise<T> {
    if (scope.kind === 'worker')
      return this.#admission.run(undefined, action, { isUrgent: true, signal: left });
    const place = this.#admission.tryEnter(scope.caller) ?? (await this.#wait(scope.caller, left));
    try {
      return await action();
    } finally {
      place.release();
    }
  }

  #wait(caller: string | undefined, signal: AbortSignal | undefined): Promise<Place> {
    signal?.throwIfAborted();
    const { maxWaiting, what } = this.limits;
    if (this.#admission.waitingOf(caller) >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    return this.#admission.enter(caller, { signal });
  }
}

/** Limit per caller and name. */
const MAX_WAITING = 1_000;

/** Performs actions of the same name one after another; different names never wait for one another. */
export class NamedTurns {
  readonly #turns = new Map<string, Turns>();

  /** Returns true while an action of this name is in flight. */
  isTaken(name: string): boolean {
    return this.#turns.has(name);
  }

  /** @throws PublicError `unavailable` when too many wait already */
  async take<T>(scope: Scope, name: string, action: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(name) ?? new Turns({ places: 1, maxWaiting: MAX_WAITING, what: name });
    this.#turns.set(name, turns);
    try {
      return await turns.take(scope, action);
    } finally {
      if (turns.isIdle) this.#turns.delete(name);
    }
  }
}

const UNIQUE_VIOLATION = '23505';

/**
 * Returns true when two servers met on one thread: the index that allows one run in progress refused the
 * second.
 */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/** One statement; with a name it is planned once for each connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
  /** The thread whose row it locks, or may wait for. */
  readonly locks?: string;
  /** The thread may be new: a transaction to bound the wait for its row would cost more than the rare wait. */
  readonly mayCreate?: boolean;
  /**
   * Description of a statement that may look at every row of a table, for its refusal when it takes too long.
   */
  readonly scans?: string;
  /** True when it scans and changes rows: it may take longer than one that only reads. */
  readonly copies?: boolean;
  /** True when it may take long: such statements are limited like transactions. */
  readonly takesTurn?: boolean;
}

export interface TransactionOptions {
  /** The thread whose row it locks, or may wait for. */
  readonly locks?: string | undefined;
  /** True when it waits for code of the agent in between. */
  readonly isLong?: boolean;
}

type Row = Record<string, unknown>;

interface Answer<R> {
  readonly rows: R[];
  readonly rowCount: number | null;
}

/** Limit of concurrent short transactions, and of statements that are limited like them. */
const MAX_TRANSACTIONS = 2;

/**
 * Time for which a request waits for the row of a thread while it holds a connection. Requests of this server
 * wait without one; another server, which limits its own requests separately, may hold the row for as long as
 * code of the agent takes.
 */
const LOCK_WAIT_SECONDS = 3;

const BEGIN_BOUNDED = ['BEGIN', `SET LOCAL lock_timeout = '${LOCK_WAIT_SECONDS}s'`];
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Limit of concurrent questions about states: each takes some ten times the length of its state in the graph
 * host.
 */
const MAX_QUESTIONS = 3;

/** Looks into large texts at once: two of 64 MB, with the connections that they hold. */
const MAX_LOOKS = 2;

/** Limit per caller. */
const MAX_WAITING_OF_CALLER = 5_000;

/** Limit per statement of a caller that may look at every row. */
const SCAN_LIMIT_MS = 5_000;

/** A copy may be gigabytes. */
const COPY_LIMIT_MS = 60_000;

function turnsAt(what: string, places: number, placesPerCaller = places): Turns {
  return new Turns({ places, maxWaiting: MAX_WAITING_OF_CALLER, what, placesPerCaller });
}

/** Limits of slow actions: a caller that fills its places leaves one to others. */
function sharedTurnsAt(what: string, places: number): Turns {
  return turnsAt(what, places, Math.max(1, places - 1));
}

/** Limits of transactions: each holds a connection and may need a second one, so they must never hold all. */
function turnsOf(connections: number): { readonly short: Turns; readonly long: Turns } {
  const most = Math.max(1, connections - 1);
  const long = Math.floor(most / 3);
  const short = turnsAt('Changes', Math.min(MAX_TRANSACTIONS, most - long));
  return { short, long: long > 0 ? turnsAt('Changes of states', long) : short };
}

function turnOf(threadId: string): string {
  // Postgres takes ids in either case
  return `Thread ${threadId.toLowerCase()}`;
}

/**
 * The only access to the database. Every statement names the scope that it runs in; this cannot be bypassed,
 * since nothing else holds the pool.
 *
 * The row of a thread may be locked for long: a change of its state waits for code of the agent. Statements
 * that wait for such a lock hold their connections meanwhile, and a few of them would take all connections.
 * So those of one thread wait for one another here, without a connection. Searches of callers may look at
 * every row and take seconds: they have half of the connections and a time limit, one caller leaves a
 * connection to others, and Postgres stops those of clients that have gone.
 */
export class Sql {
  readonly #pool: Pool;
  readonly #connection: Connection | undefined;
  readonly #turns: ReturnType<typeof turnsOf>;
  readonly #threads = new NamedTurns();
  readonly #scans: Turns;
  readonly #scanLimitMs: number;
  readonly #looks = turnsAt('Reads of large texts', MAX_LOOKS);
  readonly #questions = sharedTurnsAt('Questions about states', MAX_QUESTIONS);
  readonly #earlierOutput = turnsAt('Reads of earlier output', MAX_LOOKS);

  constructor(
    pool: Pool,
    { connection, scanLimitMs = SCAN_LIMIT_MS }: { connection?: Connection; scanLimitMs?: number } = {},
  ) {
    this.#pool = pool;
    this.#connection = connection;
    this.#scanLimitMs = scanLimitMs;
    this.#turns = turnsOf(pool.options.max);
    this.#scans = sharedTurnsAt('Searches', Math.max(1, Math.floor(pool.options.max / 2)));
  }

  /** A statement of the server's own work. */
  asWorker<R extends object = Row>(_scope: WorkerScope, statement: Statement): Promise<Answer<R>> {
    return this.#query(statement);
  }

  /**
   * A statement that a caller may ask for. Its parameter `$1` is the filter of the scope and the given values begin at
   * `$2`: Postgres refuses a statement that leaves `$1` out, so a forgotten filter fails at the first call.
   */
  inScope<R extends object = Row>(
    scope: Scope,
    {
      name,
      text,
      values = [],
      locks,
      mayCreate = false,
      scans,
      copies = false,
      takesTurn = false,
    }: Statement,
  ): Promise<Answer<R>> {
    const filter = scope.kind === 'worker' ? EVERY_ROW : scope.filter;
    const statement = { text, values: [filter.alternatives, ...values] };
    const asked = name === undefined ? statement : { name, ...statement };
    const isBounded = locks !== undefined && !mayCreate && scope.kind === 'caller' && !this.#connection;
    const ask = (): Promise<Answer<R>> =>
      isBounded ? this.#begin(scope, locks, (inside) => inside.#query(asked)) : this.#query(asked);
    if (scans !== undefined && scope.kind === 'caller' && !this.#connection)
      return this.#scan(scope, { what: scans, copies }, (connection) => connection.query<R>(asked));
    const isFree = !takesTurn || this.#connection;
    return this.#ofThread(scope, locks, () => (isFree ? ask() : this.#turns.short.take(scope, ask)));
  }

  /** @throws PublicError `bad_request` when it takes too long: asking again would take as long */
  async #scan<T>(
    scope: Scope,
    { what, copies }: { readonly what: string; readonly copies: boolean },
    ask: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const left = leftOf(scope);
    const limitMs = copies ? Math.max(COPY_LIMIT_MS, this.#scanLimitMs) : this.#scanLimitMs;
    const limit = { limitMs, left, mayChange: copies };
    try {
      return await this.#scans.take(scope, () => inLimitedTransaction(this.#pool, limit, ask), left);
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      const advice = copies ? '' : '; ask for less: ids, status and metadata have indexes, values have none';
      throw new PublicError('bad_request', `${what} took longer than ${limitMs / 1_000} s${advice}`, [], {
        cause: error,
      });
    }
  }

  /** Performs an action on a thread once earlier ones are done. A transaction holds its thread already. */
  #ofThread<T>(scope: Scope, threadId: string | undefined, action: () => Promise<T>): Promise<T> {
    if (threadId === undefined || this.#connection) return action();
    return this.#threads.take(scope, turnOf(threadId), action);
  }

  /**
   * Reads earlier output of a run, for one reader: a page may be one event of any size, and readers that come
   * back after a rollout are many.
   */
  readEarlier<T>(scope: WorkerScope, read: () => Promise<T>): Promise<T> {
    return this.#earlierOutput.take(scope, read);
  }

  /**
   * A question about a state, answered by the process of the graphs, which parses it beside all runs. Callers
   * take turns, and questions of clients that have gone are dropped.
   */
  askAboutState<T>(scope: Scope, ask: () => Promise<T>): Promise<T> {
    return this.#questions.take(scope, ask, leftOf(scope));
  }

  /**
   * Reads texts of any length: states, inputs, questions of graphs. Each is in memory as a whole during the
   * read, so only a few are read at once, and none for a client that has gone.
   */
  lookInto<T>(scope: Scope, look: () => Promise<T>): Promise<T> {
    return this.#looks.take(scope, look, leftOf(scope));
  }

  /**
   * The same for a text that is usually small, and is read at once then.
   * @param look answers `large` when it met a large text that it was not to read
   */
  async lookIfSmall<T>(scope: Scope, look: (mayBeLarge: boolean) => Promise<T | 'large'>): Promise<T> {
    const found = await look(false);
    if (found !== 'large') return found;
    const again = await this.lookInto(scope, () => look(true));
    if (again !== 'large') return again;
    throw new Error('a large text was not read in its turn');
  }

  /** Returns true while a statement of this server that locks the thread is in flight or waits. */
  isTurnTaken(threadId: string): boolean {
    return this.#threads.isTaken(turnOf(threadId));
  }

  #query<R extends object>(statement: Statement): Promise<Answer<R>> {
    return (this.#connection ?? this.#pool).query<R>(statement);
  }

  /** Performs the statements of `work` completely or not at all. @param scope on whose behalf it is queued */
  transaction<T>(
    scope: Scope,
    work: (sql: Sql) => Promise<T>,
    { locks, isLong }: TransactionOptions = {},
  ): Promise<T> {
    if (this.#connection) return work(this);
    const { short, long } = this.#turns;
    const perform = (): Promise<T> => this.#begin(scope, locks, work);
    // a request that is queued for a long transaction does not block its thread
    if (isLong) return long.take(scope, () => this.#ofThread(scope, locks, perform));
    return this.#ofThread(scope, locks, () => short.take(scope, perform));
  }

  /** The server's own work waits for as long as it takes. @throws PublicError `unavailable` */
  async #begin<T>(scope: Scope, locks: string | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    const isBounded = scope.kind === 'caller' && locks !== undefined;
    const perform = (connection: Connection): Promise<T> => work(new Sql(this.#pool, { connection }));
    try {
      return await inTransaction(this.#pool, perform, isBounded ? BEGIN_BOUNDED : ['BEGIN']);
    } catch (error) {
      if (!isBounded || sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      throw new PublicError(
        'unavailable',
        `Thread ${locks}: another server has been changing it for ${LOCK_WAIT_SECONDS} s; retry`,
      );
    }
  }

  /**
   * The pool, for the public checkpointer alone, which reads by thread id and knows no scope: only `store/checkpoint`
   * asks for it, once it has seen the thread under the scope.
   */
  poolOfCheckpointer(_scope: Scope): Pool {
    return this.#pool;
  }
}
