import type pg from 'pg';
import { GuardedClient } from './guarded-client.js';
import { throwNamed } from './named-failure.js';

export interface ConnectionOptions {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  readonly applicationName: string;
  /** Milliseconds to wait for the server; default 10 s. */
  readonly connectTimeoutMs?: number;
}

/** A connection of its own, outside of any pool; to be ended by its owner. */
export type OwnConnection = pg.Client;

/** How long a connection may be silent before its peer is probed: a broken network ends a LISTEN otherwise unseen. */
const KEEP_ALIVE_MS = 10_000;

/**
 * Opens a connection for what must stay on one session: LISTEN, advisory locks, statements of an administrator.
 * @throws NoAnswerError, or the server's refusal
 */
export async function openConnection(options: ConnectionOptions): Promise<OwnConnection> {
  const client = new GuardedClient({
    connectionString: options.uri,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  try {
    await client.connect().catch(throwNamed);
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
}
