import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { openConnection, type OwnConnection } from '#lib/postgres';
import { databaseSecretName, RESOURCES } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/**
 * Makes a database's Secret unknown for each deployment: the controller makes it anew, with another password. Until then
 * pods of the deployments wait, instead of going to the address and the password of the original, which may be right
 * there and valid.
 */
const FORGET_ADDRESSES = `
DELETE FROM kube_objects secret USING kube_objects deployment
WHERE secret.resource = 'secrets' AND deployment.resource = $2
  AND secret.namespace = deployment.namespace AND secret.name = deployment.name || $1`;

export interface RecoverRequest {
  readonly root: string;
  /** Another Postgres has the port that the deployments know. */
  readonly isMoved: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Starts only Postgres, once: it recovers the copy to its moment, and puts it on the disk.
 * @returns number of databases
 */
export async function recover({ root, isMoved, clock, log }: RecoverRequest): Promise<number> {
  if (!existsSync(join(root, 'secrets', 'postgres.json')))
    throw new Error('the backup has no passwords of its databases; restore another one');
  const postgres = await startEmbeddedPostgres({ dataDir: root, port: 0, isTied: true, log, clock });
  try {
    const names = await query(postgres.superuserUri, databasesOf);
    if (isMoved && names.includes('kube')) {
      const uri = new URL(postgres.superuserUri);
      uri.pathname = '/kube';
      const { plural, group } = RESOURCES.AgentDeployment;
      const values = [databaseSecretName(''), `${plural}.${group}`];
      await query(uri.toString(), (kube) => kube.query(FORGET_ADDRESSES, values));
    }
    return names.length;
  } finally {
    await postgres.stop();
  }
}

async function databasesOf(connection: OwnConnection): Promise<readonly string[]> {
  const { rows } = await connection.query<{ datname: string }>(
    'SELECT datname FROM pg_database WHERE NOT datistemplate',
  );
  return rows.map(({ datname }) => datname);
}

async function query<T>(uri: string, work: (connection: OwnConnection) => Promise<T>): Promise<T> {
  const connection = await openConnection({ uri, applicationName: 'agentplane restore' });
  try {
    return await work(connection);
  } finally {
    await connection.end();
  }
}
