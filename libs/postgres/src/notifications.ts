import type pg from 'pg';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import type { ConnectionBounds } from './connection-bounds.js';
import { GuardedClient, type GuardedConfig } from './guarded-client.js';
import { KEEP_ALIVE_MS } from './keep-alive.js';
import { throwNamed } from './named-failure.js';

export interface ConnectionOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  readonly applicationName: string;
  /** Milliseconds to wait for the server; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Limits of a connection to a server that is not trusted. */
  readonly bounds?: ConnectionBounds;
  /** A session that takes commands of replication instead of statements; its role needs the right to. */
  readonly isReplication?: boolean;
}

/** Settings that the driver sends on at the start of a session; its types leave this out. */
interface ReplicationConfig {
  readonly replication?: 'true';
}

/** A connection outside of any pool; its owner must end it. */
export type OwnConnection = pg.Client;

/**
 * Opens a connection for work that must stay on one session: LISTEN, advisory locks, statements of an
 * administrator.
 * @throws NoAnswerError, or the server's refusal
 */
export async function openConnection(options: ConnectionOptions): Promise<OwnConnection> {
  const config: GuardedConfig & ReplicationConfig = {
    connectionString: options.uri,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...(options.bounds ? { bounds: options.bounds } : {}),
    ...(options.isReplication ? { replication: 'true', silentMs: 0 } : {}),
  };
  const client = new GuardedClient(config);
  try {
    await client.connect().catch(throwNamed);
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
}

export interface NotificationsOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  /** A plain identifier. */
  readonly channel: string;
  readonly applicationName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const PAUSES = { firstMs: 250, longestMs: 5_000 };

/**
 * Listens to a channel on a connection of its own and reconnects until it is stopped. Payloads are `WORD:ID`.
 * They are hints: notifications that were sent while the connection was broken are lost, so after each
 * (re)connection every handler is called with an empty id, to look for itself.
 */
export class Notifications<Word extends string> {
  readonly #backoff: Backoff;
  readonly #handlers = new Map<string, (id: string) => void>();
  #connection: OwnConnection | undefined;
  #isStopped = false;

  constructor(private readonly options: NotificationsOptions) {
    this.#backoff = new Backoff(options.clock, PAUSES);
  }

  /** Sets the one handler of a word. */
  on(word: Word, handler: (id: string) => void): void {
    this.#handlers.set(word, handler);
  }

  /** Resolves after the first attempt to connect, successful or not; never rejects. */
  async start(): Promise<void> {
    let connection: OwnConnection | undefined;
    try {
      connection = await openConnection(this.options);
      if (this.#isStopped) return await connection.end();
      this.#connection = connection;
      this.#attach(connection);
      await connection.query(`LISTEN ${connection.escapeIdentifier(this.options.channel)}`);
      this.#backoff.reset();
      for (const handler of this.#handlers.values()) handler('');
    } catch (error) {
      this.#lost(connection, error);
    }
  }

  #attach(connection: OwnConnection): void {
    connection.on('notification', ({ payload = '' }) => {
      const colon = payload.indexOf(':');
      this.#handlers.get(payload.slice(0, colon))?.(payload.slice(colon + 1));
    });
    connection.on('error', (error) => this.#lost(connection, error));
    connection.on('end', () => this.#lost(connection, undefined));
  }

  /** One broken connection may report an error, an end and a failed LISTEN; only the first counts. */
  #lost(connection: OwnConnection | undefined, error: unknown): void {
    if (this.#isStopped || this.#connection !== connection) return;
    this.#connection = undefined;
    const retryMs = this.#backoff.nextMs();
    const { log, clock, channel } = this.options;
    log.warn(
      { channel, retryMs: Math.round(retryMs), ...(error === undefined ? {} : { error: errorText(error) }) },
      'database notifications interrupted; reconnecting',
    );
    void connection?.end().catch(() => undefined);
    clock.after(retryMs, () => {
      if (!this.#isStopped) void this.start();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#connection?.end().catch(() => undefined);
  }
}
