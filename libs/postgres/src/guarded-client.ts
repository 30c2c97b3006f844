import pg from 'pg';
import { boundConnection, type ConnectionBounds } from './connection-bounds.js';
import { ledQuery } from './led-query.js';
import { endWhenLost } from './lost-session.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { requiredLogin, requireScram } from './require-scram.js';
import { failUnreadableAnswers } from './unreadable-answers.js';

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
    const last = given.length - 1;
    const callback = given[last];
    if (typeof callback === 'function')
      given[last] = (error: unknown, result: unknown) =>
        void Reflect.apply(callback, undefined, [error ? namedFailure(error) : error, result]);
    const answer: unknown = Reflect.apply(super.query, this, given);
    return answer instanceof Promise ? answer.catch(throwNamed) : answer;
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
    const { query, answer } = ledQuery(first, values as unknown[] | undefined, lead);
    super.query(query);
    return answer.catch(throwNamed);
  }

  /** Sends the lead in a round trip of its own, for which the query waits. */
  #queryBehind(lead: readonly string[], given: unknown[]): unknown {
    const led = super.query(lead.join('; ')).catch(throwNamed);
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
