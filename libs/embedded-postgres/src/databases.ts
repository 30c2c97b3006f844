import { join } from 'node:path';
import { SUPERUSER } from './cluster.js';
import type { DatabaseRequest } from './database.js';
import { Passwords } from './passwords.js';

/** The roles and databases of a server that runs. */
export interface EmbeddedDatabases {
  /** URI for setting up only. Secret. */
  readonly superuserUri: string;
  /** Creates database and role as needed; answers the role's connection URI (secret). */
  ensureDatabase(request: DatabaseRequest): Promise<string>;
  /** Creates a role that may make databases and roles, no superuser; answers its connection URI (secret). */
  ensureAdministrator(request: { role: string; connectionLimit?: number }): Promise<string>;
}

/**
 * The databases of the server of a data folder, for the program that sets them up, which need not be the one that started the server.
 * The database client is loaded on the first use.
 */
export function embeddedDatabases({
  dataDir,
  port,
}: {
  readonly dataDir: string;
  readonly port: number;
}): EmbeddedDatabases {
  const passwords = new Passwords(join(dataDir, 'secrets', 'postgres.json'));
  // A program that took the port while the server restarts must not be given a password.
  const uri = (role: string, secret: string, database: string): string =>
    `postgres://${role}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${encodeURIComponent(database)}?require_auth=scram-sha-256`;
  const superuserUri = uri(SUPERUSER, passwords.ensure(SUPERUSER), 'postgres');
  return {
    superuserUri,
    async ensureDatabase(wanted) {
      if (wanted.password !== undefined) passwords.set(wanted.role, wanted.password);
      const secret = passwords.ensure(wanted.role);
      const { ensureDatabase } = await import('./database.js');
      await ensureDatabase(superuserUri, {
        connectionLimit: -1,
        isPlatform: false,
        ...wanted,
        password: secret,
      });
      return uri(wanted.role, secret, wanted.database);
    },
    async ensureAdministrator(wanted) {
      const secret = passwords.ensure(wanted.role);
      const { ensureAdministrator } = await import('./database.js');
      await ensureAdministrator(superuserUri, { connectionLimit: -1, ...wanted, password: secret });
      return uri(wanted.role, secret, 'postgres');
    },
  };
}
