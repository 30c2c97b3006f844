import { NoAnswerError, openConnection, postgresTrouble, type OwnConnection } from '#lib/postgres';
import type { ResourceKey } from './stored-object.js';

/** A change as the database keeps it. */
export interface ChangeRecord extends ResourceKey {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** JSON of the object, sealed when it is a Secret. */
  readonly object: string;
}

export interface LoadedLog {
  readonly objects: readonly ChangeRecord[];
  /** Changes in the order of their revisions. */
  readonly changes: readonly ChangeRecord[];
}

/** Another server holds this database; the caller must not write. */
export class DatabaseOwnedError extends Error {}

const LOCK = 7_301_948_302;
const SCHEMA = `
CREATE TABLE IF NOT EXISTS kube_objects (
  resource text NOT NULL, namespace text NOT NULL, name text NOT NULL,
  revision bigint NOT NULL, object text NOT NULL,
  PRIMARY KEY (resource, namespace, name));
CREATE TABLE IF NOT EXISTS kube_changes (
  revision bigint PRIMARY KEY, type text NOT NULL,
  resource text NOT NULL, namespace text NOT NULL, name text NOT NULL, object text NOT NULL);`;

// One statement, so one round trip and one commit for a whole batch. A batch never holds two changes of one key.
const COMMIT = `
WITH changes AS (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS c(revision, type, resource, namespace, name, object)
), gone AS (
  DELETE FROM kube_objects o USING changes c
  WHERE c.type = 'DELETED' AND o.resource = c.resource AND o.namespace = c.namespace AND o.name = c.name
), kept AS (
  INSERT INTO kube_objects (resource, namespace, name, revision, object)
  SELECT resource, namespace, name, revision, object FROM changes WHERE type <> 'DELETED'
  ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision, object = excluded.object
)
INSERT INTO kube_changes (revision, type, resource, namespace, name, object)
SELECT revision, type, resource, namespace, name, object FROM changes`;

// A revision is that of one object, and of one change.
const REPLACE = `
WITH changes AS (
  UPDATE kube_changes SET object = c.object FROM unnest($3::bigint[], $4::text[]) AS c(revision, object)
  WHERE kube_changes.revision = c.revision
)
UPDATE kube_objects SET object = o.object FROM unnest($1::bigint[], $2::text[]) AS o(revision, object)
WHERE kube_objects.revision = o.revision`;

/**
 * The conversation with the database: the current objects and the log of their changes. It holds an advisory lock for
 * as long as it is connected, since two writers would hand out the same revisions.
 */
export class ChangeLog {
  #client: OwnConnection | undefined;

  constructor(private readonly databaseUri: string) {}

  /** Connects, takes the lock, makes the tables. Throws DatabaseOwnedError when another server holds the lock. */
  async open(): Promise<void> {
    await this.close();
    const client = await openConnection({ uri: this.databaseUri, applicationName: 'kube-apiserver' });
    client.on('error', () => {
      if (this.#client === client) this.#client = undefined;
    });
    try {
      const { rows } = await client.query<{ owned: boolean }>('SELECT pg_try_advisory_lock($1) AS owned', [
        LOCK,
      ]);
      if (!rows[0]?.owned)
        throw new DatabaseOwnedError('another API server uses this database; stop it first');
      await client.query(SCHEMA);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
  }

  async load(): Promise<LoadedLog> {
    const client = this.#connected();
    const columns = 'revision::float8 AS revision, resource, namespace, name, object';
    const objects = await client.query<ChangeRecord>(`SELECT 'ADDED' AS type, ${columns} FROM kube_objects`);
    const changes = await client.query<ChangeRecord>(
      `SELECT type, ${columns} FROM kube_changes ORDER BY revision`,
    );
    return { objects: objects.rows, changes: changes.rows };
  }

  /** Writes a batch, all or nothing. After a broken connection the outcome is unknown: see `lastRevision`. */
  async commit(batch: readonly ChangeRecord[]): Promise<void> {
    await this.#connected().query({
      name: 'commit',
      text: COMMIT,
      values: [
        batch.map((record) => record.revision),
        batch.map((record) => record.type),
        batch.map((record) => record.resource),
        batch.map((record) => record.namespace),
        batch.map((record) => record.name),
        batch.map((record) => record.object),
      ],
    });
  }

  /** Replaces texts by others that say the same, each at its revision. */
  async replace(objects: readonly ChangeRecord[], changes: readonly ChangeRecord[]): Promise<void> {
    const of = (records: readonly ChangeRecord[]) => [
      records.map((record) => record.revision),
      records.map((record) => record.object),
    ];
    await this.#connected().query(REPLACE, [...of(objects), ...of(changes)]);
  }

  /** Revision of the newest change in the database, 0 without any. */
  async lastRevision(): Promise<number> {
    const text = 'SELECT coalesce(max(revision), 0)::float8 AS revision FROM kube_changes';
    const { rows } = await this.#connected().query<{ revision: number }>(text);
    return rows[0]?.revision ?? 0;
  }

  /** Forgets changes up to and including a revision. */
  async compact(revision: number): Promise<void> {
    await this.#connected().query('DELETE FROM kube_changes WHERE revision <= $1', [revision]);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  #connected(): OwnConnection {
    if (!this.#client) throw new NoAnswerError(new Error('not connected'));
    return this.#client;
  }
}

/** True when a statement failed only because the connection or the server ended: it is performed again. */
export function isConnectionFailure(error: unknown): boolean {
  return postgresTrouble(error) === 'unavailable';
}
