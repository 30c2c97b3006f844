import pg from 'pg';
import { failLongRows } from './fail-long-rows.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { requiredLogin, requireScram } from './require-scram.js';

/**
 * A connection that cannot end the process: it always listens to its own `error` event, since a pool listens to idle
 * connections only and one that breaks while it is lent out would throw. Nor can a row that is too long to be read.
 * Failures without an answer of the server are NoAnswerErrors; a server that does not log in as the URI's
 * `require_auth` demands counts as one that gave none.
 */
export class GuardedClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    failLongRows(this.connection);
    const uri = typeof config === 'string' ? config : config?.connectionString;
    if (requiredLogin(uri) !== undefined) requireScram(this.connection);
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
    const last = given.length - 1;
    const callback = given[last];
    if (typeof callback === 'function')
      given[last] = (error: unknown, result: unknown) =>
        void Reflect.apply(callback, undefined, [error ? namedFailure(error) : error, result]);
    const answer: unknown = Reflect.apply(super.query, this, given);
    return answer instanceof Promise ? answer.catch(throwNamed) : answer;
  }
}
