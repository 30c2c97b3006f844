import { randomUUID } from 'node:crypto';
import {
  type Connection,
  copyAcross,
  inTransaction,
  openPool,
  type Pool,
  type Queryable,
} from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  AGENT_SCHEMA,
  type AgentTable,
  agentTables,
  schemaVersion,
  WRITTEN_AT_START,
} from './agent-tables.js';
import { madeObjects, missingIn, renderObjects } from './made-objects.js';
import { requireNoSessions } from './require-no-sessions.js';

export interface MoveOptions {
  /** URI of the database that is read. Secret. */
  readonly from: string;
  /** URI of the database that is filled. Secret. */
  readonly to: string;
  /** Makes the agent server's tables in a database, or brings them up to date. */
  readonly bringUpSchema: (uri: string) => Promise<void>;
  /** Is told of every chunk of rows that passes. */
  readonly passed?: (table: string, bytes: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A table with rows, as many on both sides. */
export interface CountedTable {
  readonly name: string;
  readonly rows: number;
}

/** A table is as large as it is; the role's own limits are for agents. */
const NO_LIMITS = { statement_timeout: '0', idle_in_transaction_session_timeout: '0' };
/** Someone who holds a table of the target for longer is at work on it. */
const LOCK_WAIT = '10s';

/** The schema, what is in it, and what is on a table of it. */
const OF_AGENT_SERVERS = new RegExp(`(^|[ (])${AGENT_SCHEMA}(\\.|$)`);

/**
 * Copies everything that agent servers of a deployment keep from one database into another that has nothing yet: threads,
 * runs, checkpoints, items, assistants, crons, with their ids and the next numbers. All of it is committed at once, or
 * nothing is, so a move that was interrupted is begun again. The source stays as it is.
 * @returns the tables that have rows; those of both sides were counted
 * @throws Error when one of them is in use, the target is not empty, or the source has objects that would be
 * left behind
 */
export async function moveDatabase(options: MoveOptions): Promise<readonly CountedTable[]> {
  const { from, to, log } = options;
  const ownName = `agentplane-migrate-${randomUUID()}`;
  const common = { applicationName: ownName, maxConnections: 2, log };
  const settings = { ...NO_LIMITS, search_path: AGENT_SCHEMA };
  const source = openPool({ ...common, uri: from, settings });
  const target = openPool({ ...common, uri: to, settings: { ...settings, lock_timeout: LOCK_WAIT } });
  const requireRest = async (): Promise<void> => {
    for (const end of [source, target]) await requireNoSessions(end, { ownName, clock: options.clock });
  };
  try {
    for (const end of [source, target]) await requireOwner(end);
    await requireRest();
    await requireNothingElse(source, target);
    await options.bringUpSchema(to);
    await requireSameSchema(source, target);
    return await inTransaction(
      source,
      (reading) =>
        inTransaction(target, async (writing) => {
          const counted = await fill(reading, writing, options);
          // one that was started meanwhile: nothing is committed yet
          await requireRest();
          return counted;
        }),
      // one moment of the whole database
      ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'],
    );
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}

/** Tables that another role made would be closed to the deployment's. */
async function requireOwner(database: Pool): Promise<void> {
  const { rows } = await database.query<{ name: string; owner: string; role: string }>(
    `SELECT datname AS name, pg_get_userbyid(datdba) AS owner, current_user AS role
    FROM pg_database WHERE datname = current_database()`,
  );
  const [found] = rows;
  if (found === undefined || found.owner === found.role) return;
  throw new Error(
    `moving a database failed: ${found.name} belongs to ${found.owner}, not to ${found.role}; ` +
      "take the URI of the deployment's own role",
  );
}

/** A wrong URI must be found before anything is written, and what would stay behind before anything is copied. */
async function requireNothingElse(source: Queryable, target: Queryable): Promise<void> {
  const version = await schemaVersion(source);
  if (version === undefined)
    throw new Error(
      'moving a database failed: the source has no tables of an agent server; nothing is to be moved',
    );
  const [here, there] = [await madeObjects(source), await madeObjects(target)];
  const others = missingIn(here, there).filter(({ identity }) => !OF_AGENT_SERVERS.test(identity));
  if (others.length > 0)
    throw new Error(
      `moving a database failed: the target is not empty, it has ${renderObjects(others)}; name the database of a deployment that has not run`,
    );
}

async function requireSameSchema(source: Queryable, target: Queryable): Promise<void> {
  const [here, there] = [await schemaVersion(source), await schemaVersion(target)];
  if (here !== there)
    throw new Error(
      `moving a database failed: the tables of the source are of version ${here}, those of the target of version ${there}; ` +
        'let the agent start once with the later version of the platform, and repeat with that version',
    );
  const left = missingIn(await madeObjects(target), await madeObjects(source));
  if (left.length > 0)
    throw new Error(
      `moving a database failed: the source has ${renderObjects(left)}, which no agent server made and which would be left behind; ` +
        'make the same in the target first (pg_dump copies it, with its rows), or drop it in the source',
    );
  const shapes = new Map((await agentTables(source)).map(({ name, shape }) => [name, shape]));
  const differs = (await agentTables(target)).find(({ name, shape }) => shapes.get(name) !== shape);
  if (differs !== undefined)
    throw new Error(`moving a database failed: table ${differs.name} has other columns in the source`);
}

async function fill(
  reading: Connection,
  writing: Connection,
  { passed }: MoveOptions,
): Promise<readonly CountedTable[]> {
  const tables = await agentTables(writing);
  const names = tables.map(({ name }) => writing.escapeIdentifier(name));
  await writing.query(`LOCK TABLE ${names.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
  await requireEmpty(writing, tables);
  for (const name of Object.keys(WRITTEN_AT_START)) await writing.query(`DELETE FROM ${name}`);
  // the rows that triggers would write are copied
  const acting = tables.filter(({ hasTriggers }) => hasTriggers);
  for (const { name } of acting) await switchTriggers(writing, name, 'DISABLE');
  const counted: CountedTable[] = [];
  for (const { name, columns, sequences } of tables) {
    await copyAcross(reading, writing, { table: name, columns, passed: (bytes) => passed?.(name, bytes) });
    const rows = await requireSameCount(reading, writing, name);
    if (rows > 0) counted.push({ name, rows });
    for (const sequence of sequences) await continueSequence(reading, writing, sequence);
  }
  for (const { name } of acting) await switchTriggers(writing, name, 'ENABLE');
  return counted;
}

/**
 * Requires that the target is empty. Rows that a server writes when it starts do not count: a person would
 * not miss them.
 */
async function requireEmpty(target: Connection, tables: readonly AgentTable[]): Promise<void> {
  for (const { name } of tables) {
    const own = WRITTEN_AT_START[name] ?? 'false';
    const { rowCount } = await target.query(
      `SELECT FROM ${target.escapeIdentifier(name)} WHERE NOT (${own}) LIMIT 1`,
    );
    if (rowCount !== 0)
      throw new Error(
        `moving a database failed: the target is not empty, it has rows in ${AGENT_SCHEMA}.${name}; ` +
          `name the database of a deployment that has not run, or run DROP SCHEMA ${AGENT_SCHEMA} CASCADE there to lose these rows`,
      );
  }
}

async function switchTriggers(target: Connection, table: string, how: 'DISABLE' | 'ENABLE'): Promise<void> {
  await target.query(`ALTER TABLE ${target.escapeIdentifier(table)} ${how} TRIGGER USER`);
}

async function requireSameCount(source: Connection, target: Connection, table: string): Promise<number> {
  const count = async (database: Connection): Promise<number> => {
    const { rows } = await database.query<{ count: string }>(
      `SELECT count(*) AS count FROM ${database.escapeIdentifier(table)}`,
    );
    return Number(rows[0]?.count);
  };
  const [here, there] = [await count(source), await count(target)];
  if (here === there) return here;
  throw new Error(
    `moving a database failed: ${table} has ${here} rows in the source and ${there} in the target; nothing was copied`,
  );
}

/** @param sequence quoted, as the target names it */
async function continueSequence(source: Connection, target: Connection, sequence: string): Promise<void> {
  const { rows } = await source.query<{ last: string; called: boolean }>(
    `SELECT last_value AS last, is_called AS called FROM ${sequence}`,
  );
  const [state] = rows;
  if (state) await target.query('SELECT setval($1::regclass, $2, $3)', [sequence, state.last, state.called]);
}
