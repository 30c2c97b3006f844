import pg from 'pg';
import { boundConnection, type ConnectionBounds } from './connection-bounds.js';
import { ledQuery } from './led-query.js';
import { endWhenLost } from './lost-session.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { requiredLogin, requireScram } from './require-scram.js';
import { failUnreadableAnswers } from './unreadable-answers.js';

/** Of a connection, beyond what the driver knows. */
export interface GuardedConfig extends pg.ClientConfig {
  /** Milliseconds until a silent statement is asked for, by `endWhenLost`; 0 for never. */
  readonly silentMs?: number | undefined;
  readonly bounds?: ConnectionBounds | undefined;
}

/** Of the session that asks for a silent statement. */
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

  /** Has these statements sent with the next query, before it. They have no parameters, and their answers are dropped. */
  lead(statements: readonly string[]): void {
    this.#lead = [...this.#lead, ...statements];
  }

  /** Takes back what no query has come after. */
  takeLead(): readonly string[] {
    const unsent = this.#lead;
    this.#lead = [];
    return unsent;
  }

  #queryAfterLead([first, values, ...more]: unknown[]): unknown {
    const lead = this.#lead;
    this.#lead = [];
    const isOwn = typeof first === 'string' || (typeof first === 'object' && !isSubmittable(first));
    if (!isOwn || more.length > 0 || typeof values === 'function' || mayBeSeveral(first)) {
      // in a round trip of their own, which what comes behind them waits for
      const led = super.query(lead.join('; '));
      led.catch(() => undefined);
      const answer: unknown = Reflect.apply(this.query, this, [first, values, ...more]);
      // what failed first is the reason
      return answer instanceof Promise
        ? answer.catch((error: unknown) => led.then(() => throwNamed(error), throwNamed))
        : answer;
    }
    const { query, answer } = ledQuery(
      first as string | pg.QueryConfig,
      values as unknown[] | undefined,
      lead,
    );
    super.query(query);
    return answer.catch(throwNamed);
  }
}

/** Several statements in one text can be asked for by the simple protocol alone. */
function mayBeSeveral(query: unknown): boolean {
  const text: unknown = typeof query === 'object' ? (query as pg.QueryConfig | null)?.text : query;
  return typeof text === 'string' && text.includes(';');
}

function isSubmittable(value: object | null): boolean {
  return value !== null && 'submit' in value;
}
