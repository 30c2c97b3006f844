import { GuardedClient } from './guarded-client.js';
import type { Connection } from './open-pool.js';

/** Performs statements without parameters right before the next query of the connection, in one round trip with it. */
export async function sendWithNext(connection: Connection, statements: readonly string[]): Promise<void> {
  if (connection instanceof GuardedClient) connection.lead(statements);
  else await connection.query(statements.join('; '));
}

/** Takes back the statements that no query has followed. */
export function takeUnsent(connection: Connection): readonly string[] {
  return connection instanceof GuardedClient ? connection.takeLead() : [];
}
