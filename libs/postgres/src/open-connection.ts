import type pg from 'pg';
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
