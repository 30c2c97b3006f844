import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { systemClock } from '#lib/time';
import { boundConnection, type ConnectionBounds } from './connection-bounds.js';
import { namedFailure } from './named-failure.js';
import { requiredLogin, requireScram } from './require-scram.js';

/** Method by which the driver begins to read from a socket; its types leave this out. */
interface Reading {
  attachListeners(stream: Duplex): void;
}

/**
 * Lets an answer that cannot be read fail its statement: a value that is too long for a text of JavaScript
 * (2^29 characters), or bytes that are not a message of Postgres. The driver reads in a listener of the
 * socket, where the error would end the process, and with it the work of others. The connection is given up,
 * since the rest of the answer was not read.
 */
function failUnreadableAnswers(connection: pg.Connection): void {
  const reading = connection as pg.Connection & Reading;
  const attach = reading.attachListeners.bind(connection);
  reading.attachListeners = (stream) => {
    const before = new Set(stream.listeners('data'));
    attach(stream);
    for (const listener of stream.listeners('data') as ((piece: Buffer) => void)[]) {
      if (before.has(listener)) continue;
      stream.off('data', listener);
      stream.on('data', (piece: Buffer) => {
        // the reader has lost its place
        if (stream.destroyed) return;
        try {
          listener(piece);
        } catch (error) {
          stream.destroy(
            isTooLong(error)
              ? new RangeError('a value of the answer is too long to be read', { cause: error })
              : new Error('the server sent what is no answer of Postgres', { cause: error }),
          );
        }
      });
    }
  };
}

function isTooLong(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ERR_STRING_TOO_LONG';
}

/** A statement is asked about after it was silent for this long, or up to twice this. */
const SILENT_MS = 10_000;
/** Allows for the time that a login takes, and for a clock that steps back. */
const SLACK_MS = 5_000;

/**
 * Members of the driver's session. Its types leave this out: `lost-session.spec.ts` fails when a version
 * changes it.
 */
interface Session {
  readonly connection: { readonly stream: Socket };
  readonly processID: number | null;
  readonly readyForQuery: boolean;
}

/** `own` is the session that asks: behind a pooler it is not the id that the driver was given. */
const FIND = `SELECT pg_backend_pid() AS own, EXISTS (
  SELECT FROM pg_stat_activity WHERE pid = $1 AND backend_start <= clock_timestamp() - $2 * interval '1 ms'
) AS known`;

/**
 * Ends a connection whose statement waits for a server that does not know its session. A node without power drops packets and
 * reports nothing, and the kernel repeats them for a quarter of an hour. So a second session asks the server that is behind
 * the address by then, such as a standby that was promoted. Without an answer, and behind a pooler, the connection stays: a
 * statement may take long.
 * @param open makes a session that asks, to the same address and without this watch
 */
function endWhenLost(client: pg.Client, open: () => pg.Client, silentMs = SILENT_MS): void {
  const session = client as pg.Client & Session;
  client.once('connect', () => {
    const beganMs = systemClock.monotonicMs();
    const { stream } = session.connection;
    let heard: number | undefined;
    let cancel = systemClock.after(silentMs, () => void look());
    client.once('end', () => cancel());

    async function look(): Promise<void> {
      const isSilent = !session.readyForQuery && stream.bytesRead === heard;
      heard = session.readyForQuery ? undefined : stream.bytesRead;
      const ageMs = systemClock.monotonicMs() - beganMs;
      if (isSilent && (await isUnknown(open(), session.processID, ageMs - SLACK_MS)))
        stream.destroy(new Error('the server does not know the session of this connection'));
      if (!stream.destroyed) cancel = systemClock.after(silentMs, () => void look());
    }
  });
}

async function isUnknown(asker: pg.Client, pid: number | null, ageMs: number): Promise<boolean> {
  try {
    await asker.connect();
    const { rows } = await asker.query<{ own: number; known: boolean }>(FIND, [pid, ageMs]);
    const own = (asker as pg.Client & Session).processID;
    return rows[0]?.own === own && !rows[0].known;
  } catch {
    return false; // no answer decides nothing
  } finally {
    void asker.end().catch(() => undefined);
  }
}

/** Callback of a statement. */
type Done = (error: unknown, result?: unknown) => void;

/** The same callback, with the failure named. */
function named(callback: Done): Done {
  return (error, result) => callback(error ? namedFailure(error) : error, result);
}

/**
 * The answer of a statement. Promises of the driver keep the rows of each answer until the next collection of all garbage:
 * reading pages took twice the CPU.
 * @throws the failure, named and with the stack of the caller
 */
async function answered(send: (done: Done) => unknown): Promise<unknown> {
  try {
    return await new Promise((resolve, reject) =>
      send((error, result) => (error ? reject(error) : resolve(result))),
    );
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error);
    throw namedFailure(error);
  }
}

declare module 'pg' {
  /**
   * Methods of a query that the driver calls. Its types leave this out: `in-transaction.spec.ts` fails when a version
   * changes them.
   */
  interface Query {
    prepare(connection: pg.Connection): void;
    handleDataRow(message: unknown): void;
    handleCommandComplete(message: unknown, connection: pg.Connection): void;
  }
}

/**
 * A query that is sent in one round trip with statements before it: each round trip costs both sides a write
 * and a wake-up, which for a small statement is more than its work. The server performs them in order; if one
 * fails it leaves out the rest, and the query fails with its error.
 */
class LedQuery extends pg.Query {
  readonly #lead: readonly string[];
  #left: number;

  /**
   * @param given a named statement only once it is prepared
   * @param lead statements without parameters, whose answers are not needed
   */
  constructor(
    given: string | pg.QueryConfig,
    values: unknown[] | undefined,
    lead: readonly string[],
    callback: Done,
  ) {
    const config = typeof given === 'string' ? { text: given } : given;
    // without values the driver would use the other protocol, in which nothing can be sent ahead
    const extended = { ...config, queryMode: 'extended', callback };
    super(extended, values);
    this.#lead = lead;
    this.#left = lead.length;
  }

  /** The driver calls it while it gathers what it writes. */
  override prepare(connection: pg.Connection): void {
    for (const text of this.#lead) {
      connection.parse({ name: '', text, types: [] }, true);
      connection.bind({}, true);
      connection.execute({}, true);
    }
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.#left === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    if (this.#left > 0) this.#left--;
    else super.handleCommandComplete(message, connection);
  }
}

/** Settings of a connection, beyond those that the driver knows. */
export interface GuardedConfig extends pg.ClientConfig {
  /** Milliseconds until `endWhenLost` asks the server about a silent statement; 0 for never. */
  readonly silentMs?: number | undefined;
  readonly bounds?: ConnectionBounds | undefined;
}

/** Texts of the statements that the driver has prepared, by name; its types leave this out. */
interface Preparing {
  readonly parsedStatements?: Readonly<Record<string, string>>;
}

/** Time limit of the session that asks about a silent statement. */
const ASKED_MS = 5_000;

/**
 * A connection that cannot end the process: it always listens to its own `error` event, since a pool listens to idle
 * connections only and one that breaks while it is lent out would throw. Nor can an answer that cannot be read.
 * Failures without an answer of the server are NoAnswerErrors; a server that does not log in as the URI's
 * `require_auth` demands counts as one that gave none. A statement does not outwait a server that has lost its session.
 */
export class GuardedClient extends pg.Client {
  #lead: readonly string[] = [];

  constructor(config: GuardedConfig = {}) {
    super(config);
    this.on('error', () => undefined);
    failUnreadableAnswers(this.connection);
    if (config.bounds) boundConnection(this, config.bounds);
    if (requiredLogin(config.connectionString) !== undefined) requireScram(this.connection);
    const asker = { ...config, query_timeout: ASKED_MS, connectionTimeoutMillis: ASKED_MS, silentMs: 0 };
    if (config.silentMs !== 0) endWhenLost(this, () => new GuardedClient(asker), config.silentMs);
  }

  // pool.query hands an `error` event on as the failure of its statement
  override emit(event: string | symbol, ...given: unknown[]): boolean {
    return event === 'error' ? super.emit(event, namedFailure(given[0])) : super.emit(event, ...given);
  }

  override query<T extends pg.Submittable>(stream: T): T;
  override query<R extends unknown[], I = unknown[]>(
    config: pg.QueryArrayConfig<I>,
    values?: pg.QueryConfigValues<I>,
  ): Promise<pg.QueryArrayResult<R>>;
  override query<R extends pg.QueryResultRow, I = unknown[]>(
    config: pg.QueryConfig<I>,
  ): Promise<pg.QueryResult<R>>;
  override query<R extends pg.QueryResultRow, I = unknown[]>(
    textOrConfig: string | pg.QueryConfig<I>,
    values?: pg.QueryConfigValues<I>,
  ): Promise<pg.QueryResult<R>>;
  override query<R extends unknown[], I = unknown[]>(
    config: pg.QueryArrayConfig<I>,
    callback: (error: Error, result: pg.QueryArrayResult<R>) => void,
  ): void;
  override query<R extends pg.QueryResultRow, I = unknown[]>(
    textOrConfig: string | pg.QueryConfig<I>,
    callback: (error: Error, result: pg.QueryResult<R>) => void,
  ): void;
  override query<R extends pg.QueryResultRow, I = unknown[]>(
    text: string,
    values: pg.QueryConfigValues<I>,
    callback: (error: Error, result: pg.QueryResult<R>) => void,
  ): void;
  override query(...given: unknown[]): unknown {
    if (this.#lead.length > 0) return this.#queryAfterLead(given);
    return this.#send(given);
  }

  #send([config, values, callback]: unknown[]): unknown {
    const send = (...statement: unknown[]): unknown => Reflect.apply(super.query, this, statement);
    if (typeof callback === 'function') return send(config, values, named(callback as Done));
    if (typeof values === 'function') return send(config, undefined, named(values as Done));
    if (typeof config === 'object' && config !== null && 'submit' in config) return send(config);
    return answered((done) => send(config, values, done));
  }

  /** Sends these statements with the next query, before it. They have no parameters, and their answers are dropped. */
  lead(statements: readonly string[]): void {
    this.#lead = [...this.#lead, ...statements];
  }

  /** Takes back the statements that no query has followed. */
  takeLead(): readonly string[] {
    const unsent = this.#lead;
    this.#lead = [];
    return unsent;
  }

  #queryAfterLead([first, values, ...more]: unknown[]): unknown {
    const lead = this.#lead;
    this.#lead = [];
    if (!this.#canBeLed(first) || more.length > 0 || typeof values === 'function')
      return this.#queryBehind(lead, [first, values, ...more]);
    return answered((done) => super.query(new LedQuery(first, values as unknown[] | undefined, lead, done)));
  }

  /** Sends the lead in a round trip of its own, for which the query waits. */
  #queryBehind(lead: readonly string[], given: unknown[]): unknown {
    const led = this.#send([lead.join('; ')]) as Promise<unknown>;
    led.catch(() => undefined);
    const answer: unknown = Reflect.apply(this.query, this, given);
    // if the lead failed, the query fails too, and for that reason
    return answer instanceof Promise ? answer.finally(() => led) : answer;
  }

  /**
   * True when a query can be sent with a lead, which takes the extended protocol: one text is one statement
   * there. A named one can once it is prepared: before that, the driver would take it for prepared as soon as
   * the first statement of the lead is parsed, even if the server then leaves it out.
   */
  #canBeLed(given: unknown): given is string | pg.QueryConfig {
    if (typeof given === 'string') return !given.includes(';');
    if (typeof given !== 'object' || given === null || 'submit' in given) return false;
    const { name, text } = given as Partial<pg.QueryConfig>;
    if (text === undefined || text.includes(';')) return false;
    const { parsedStatements = {} } = this.connection as pg.Connection & Preparing;
    return name === undefined || Object.hasOwn(parsedStatements, name);
  }
}
