import pg from 'pg';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { GuardedClient, type GuardedConfig } from './guarded-client.js';
import { KEEP_ALIVE_MS } from './keep-alive.js';
import { namedFailure, throwNamed } from './named-failure.js';
import { sqlState } from './postgres-trouble.js';
import { requiredLogin } from './require-scram.js';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { NoAnswerError } from './no-answer-error.js';

/** Members of the driver's session that its types leave out; `answer-watch.spec.ts` fails when a version changes them. */
interface Session {
  readonly connection: { readonly stream: Socket };
  readonly readyForQuery: boolean;
}

/** Shares of the limit: between two looks, and for the session that asks. A stop is noticed after two looks at most. */
const LOOK_SHARE = 1 / 5;
const ASK_SHARE = 3 / 5;

/** A request for a connection that has not been served. */
interface WaitingRequest {
  /** Ends the wait. @returns false when it was given up before */
  end(): boolean;
}

/**
 * Gives up statements, and requests for a connection, of a server that accepts connections and answers nothing: its
 * processes are stopped, or its machine has no power. A statement may take long, so silence alone decides nothing. After
 * some of it a new session asks the server; only when that is not answered either are all that wait given up, and new ones at
 * once, until the server answers again.
 */
class AnswerWatch {
  /** Bytes heard of each connection. */
  readonly #heard = new Map<pg.PoolClient, number>();
  readonly #waiting = new Set<() => void>();
  #heardMs = 0;
  #isLooking = false;
  #isUnanswered = false;

  /**
   * @param limitMs time within which a statement of such a server fails
   * @param open makes a session that asks, which ends within the given milliseconds
   */
  constructor(
    private readonly pool: pg.Pool,
    private readonly limitMs: number,
    private readonly open: (ms: number) => pg.Client,
  ) {
    pool.on('connect', (client) => {
      this.#heard.set(client, 0);
      client.once('end', () => this.#heard.delete(client));
    });
  }

  /** Watches a request for a connection. */
  wait(giveUp: (error: NoAnswerError) => void): WaitingRequest {
    const fail = (): void => giveUp(new NoAnswerError(new Error('the server answers nothing')));
    this.#waiting.add(fail);
    if (this.#isUnanswered) queueMicrotask(() => this.#waiting.delete(fail) && fail());
    if (!this.#isLooking) void this.#look();
    return { end: () => this.#waiting.delete(fail) };
  }

  /** Looks for as long as the pool is used, and the server has not answered. */
  async #look(): Promise<void> {
    const lookMs = this.limitMs * LOOK_SHARE;
    this.#isLooking = true;
    this.#heardMs = systemClock.monotonicMs();
    do {
      const { promise, resolve } = Promise.withResolvers<void>();
      systemClock.after(lookMs, resolve);
      await promise;
      const isSilent = this.#silentMs() >= lookMs || this.#isUnanswered;
      if (!isSilent || (await this.#isAnswered())) this.#isUnanswered = false;
      else {
        // a process that was suspended itself reads first what has arrived meanwhile
        await setImmediate();
        this.#isUnanswered = this.#isUnanswered || this.#silentMs() > 0;
        if (this.#isUnanswered) this.#giveUp();
      }
    } while (!this.pool.ending && (this.#isUnanswered || this.pool.totalCount > this.pool.idleCount));
    this.#isLooking = false;
  }

  /** Milliseconds for which something waited and nothing was heard. */
  #silentMs(): number {
    const nowMs = systemClock.monotonicMs();
    let isWaiting = this.#waiting.size > 0;
    for (const [client, bytes] of this.#heard) {
      const { connection, readyForQuery } = client as pg.PoolClient & Session;
      const { bytesRead } = connection.stream;
      if (bytesRead !== bytes) this.#heardMs = nowMs;
      this.#heard.set(client, bytesRead);
      isWaiting ||= !readyForQuery;
    }
    if (!isWaiting) this.#heardMs = nowMs;
    return nowMs - this.#heardMs;
  }

  async #isAnswered(): Promise<boolean> {
    const asker = this.open(this.limitMs * ASK_SHARE);
    try {
      await asker.connect();
      this.#heardMs = systemClock.monotonicMs();
      return true;
    } catch (error) {
      return error instanceof pg.DatabaseError; // a refusal is an answer
    } finally {
      void asker.end().catch(() => undefined);
    }
  }

  #giveUp(): void {
    for (const client of this.#heard.keys()) {
      const { connection, readyForQuery } = client as pg.PoolClient & Session;
      if (!readyForQuery) connection.stream.destroy(new Error('the server answers nothing'));
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const fail of waiting) fail();
  }
}

type Lend = Parameters<pg.Pool['connect']>[0];

const TOO_MANY_CONNECTIONS = '53300';
/** Pauses of a pool that the server gives no further connection; its own may become free at any time. */
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

/**
 * A pool of guarded connections. One that cannot be opened, or is not free in time, is a NoAnswerError. While the server
 * admits no more connections of its role, those that the pool has are waited for, as if they were all that it may have.
 */
class GuardedPool extends pg.Pool {
  readonly #patienceMs: number;
  readonly #watch: AnswerWatch | undefined;

  constructor(config: pg.PoolConfig & GuardedConfig, answerMs: number | undefined) {
    requiredLogin(config.connectionString); // a wrong URI is reported here, not by each statement
    super({ ...config, Client: GuardedClient });
    this.#patienceMs = config.connectionTimeoutMillis ?? 0;
    if (answerMs === undefined) return;
    const open = (ms: number): pg.Client =>
      new GuardedClient({ ...config, connectionTimeoutMillis: ms, silentMs: 0 });
    this.#watch = new AnswerWatch(this, answerMs, open);
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Lend): void;
  override connect(callback?: Lend): Promise<pg.PoolClient> | void {
    const deadlineMs = systemClock.monotonicMs() + this.#patienceMs;
    // the pool's own query comes this way
    if (callback) return this.#lend(callback, deadlineMs, FIRST_PAUSE_MS);
    return new Promise<pg.PoolClient>((resolve, reject) => {
      const lent: Lend = (error, client) => (client ? resolve(client) : reject(error ?? new Error('none')));
      this.#lend(lent, deadlineMs, FIRST_PAUSE_MS);
    }).catch(throwNamed);
  }

  #lend(callback: Lend, deadlineMs: number, pauseMs: number): void {
    const request = this.#watch?.wait((error) => callback(error, undefined, () => undefined));
    super.connect((error, client, done) => {
      if (request?.end() === false) return client?.release();
      if (sqlState(error) === TOO_MANY_CONNECTIONS && systemClock.monotonicMs() + pauseMs < deadlineMs) {
        const longer = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        systemClock.after(pauseMs, () => this.#lend(callback, deadlineMs, longer));
        return;
      }
      const failure = error && namedFailure(error);
      callback(failure instanceof Error ? failure : error, client, done);
    });
  }
}

export interface PoolOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  /** Name that `pg_stat_activity` shows. */
  readonly applicationName: string;
  readonly log: Logger;
  /** Maximum number of connections; default 8. They are opened on demand. */
  readonly maxConnections?: number;
  /** Milliseconds that an unused connection is kept; default 30 s, 0 for always. */
  readonly idleTimeoutMs?: number;
  /** Milliseconds to wait for a connection; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until the server is asked whether it still knows the session of a silent statement; default 10 s. */
  readonly silentMs?: number;
  /**
   * Milliseconds after which statements fail whose server answers nothing, not even a new session. For pools of requests;
   * without it they wait until the server continues, or its machine reports the connection as lost.
   */
  readonly answerMs?: number | undefined;
  /** Settings of every session, such as `timezone`. Values without spaces. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Conversion of values to those of JavaScript; the driver's own by default. */
  readonly types?: pg.CustomTypesConfig;
}

/** A pool of connections, each opened on demand. See `postgresTrouble` for the meaning of its failures. */
export type Pool = pg.Pool;

/** A connection that a pool has lent out. */
export type Connection = pg.PoolClient;

/** The part of a pool or a connection that a single statement needs. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** `answerMs` of pools that serve requests: these are answered within 5 s. */
export const REQUEST_ANSWER_MS = 3_500;

/** Opens a pool; connects on the first statement. */
export function openPool(options: PoolOptions): Pool {
  const { settings = {}, answerMs } = options;
  const config = {
    connectionString: options.uri,
    application_name: options.applicationName,
    max: options.maxConnections ?? 8,
    idleTimeoutMillis: options.idleTimeoutMs ?? 30_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(options.silentMs === undefined ? {} : { silentMs: options.silentMs }),
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    ...(options.types ? { types: options.types } : {}),
  };
  const pool = new GuardedPool(config, answerMs);
  pool.on('error', (error) => options.log.warn({ err: error }, 'idle database connection broke'));
  return pool;
}
