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

/** Sessions of a command that was killed a moment ago, and of pods that are stopping, end by themselves. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 250;

/** Every role may read whose session it is and how it calls itself. Monitoring and the like log in as other roles. */
const SESSIONS = `SELECT current_database() AS database, application_name AS name, count(*)::int AS count
  FROM pg_stat_activity
  WHERE datname = current_database() AND usename = current_user AND application_name <> $1
  GROUP BY 2 ORDER BY 2`;

/**
 * Looks for other sessions of the role of a database: servers of the deployment, and what its graphs opened.
 * @param ownName the name of the sessions that are this program's
 * @throws Error that names them, when they are still there after some seconds
 */
async function requireNoSessions(
  database: Queryable,
  { ownName, clock }: { readonly ownName: string; readonly clock: Clock },
): Promise<void> {
  for (const start = clock.monotonicMs(); ; await clock.sleep(PAUSE_MS)) {
    const { rows } = await database.query<{ database: string; name: string; count: number }>(SESSIONS, [
      ownName,
    ]);
    const [first] = rows;
    if (first === undefined) return;
    if (clock.monotonicMs() - start < PATIENCE_MS) continue;
    const names = rows.map(
      ({ name, count }) => `${count} of ${name === '' ? 'a program without a name' : name}`,
    );
    throw new Error(
      `moving a database failed: ${first.database} has open sessions (${names.join(', ')}); suspend its deployment and repeat`,
    );
  }
}

/** Schema of everything that an agent server keeps, the checkpointer's tables included. */
const AGENT_SCHEMA = 'agentplane';

/** A table whose rows are copied. */
interface AgentTable {
  readonly name: string;
  /** Columns that the database does not compute. */
  readonly columns: readonly string[];
  /** All columns with their types: two databases of one schema have the same. */
  readonly shape: string;
  readonly hasTriggers: boolean;
  /** Sequences, by the column that takes its numbers from them. */
  readonly sequences: readonly string[];
}

/** Tables of applied migrations: each database notes its own. */
const LEFT: ReadonlySet<string> = new Set(['migrations', 'checkpoint_migrations']);

/**
 * Rows that the schema or the start of a server writes by itself, so that a target which has no others is empty: the
 * source's take their place.
 */
const WRITTEN_AT_START: Readonly<Record<string, string>> = {
  context_key: 'true',
  thread_ttl_default: 'true',
  assistants: 'system',
  assistant_versions: `assistant_id IN (SELECT assistant_id FROM ${AGENT_SCHEMA}.assistants WHERE system)`,
};

/**
 * Unlogged tables hold the output of runs at work for readers of other servers, and are left. Referenced
 * tables come first.
 */
const TABLES = `SELECT c.relname AS name,
    array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS columns,
    json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) ORDER BY a.attname)::text AS shape,
    EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS "hasTriggers",
    coalesce(array_agg(pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname)
      ORDER BY a.attnum) FILTER (WHERE a.attidentity <> ''), '{}') AS sequences,
    (SELECT count(*)::int FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f') AS references
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relpersistence = 'p'
  GROUP BY c.oid, c.relname, n.nspname
  ORDER BY 6, 1`;

/** The tables of an agent server in a database, in the order in which they can be filled. */
async function agentTables(database: Queryable): Promise<readonly AgentTable[]> {
  const { rows } = await database.query<AgentTable>(TABLES, [AGENT_SCHEMA]);
  return rows.filter(({ name }) => !LEFT.has(name));
}

/** Numbers of the migrations that an agent server applied; undefined where none ever started on the database. */
async function schemaVersion(database: Queryable): Promise<number | undefined> {
  const { rows: found } = await database.query<{ exists: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AS exists`,
    [`${AGENT_SCHEMA}.migrations`],
  );
  if (found[0]?.exists !== true) return undefined;
  const { rows } = await database.query<{ version: number | null }>(
    `SELECT max(version) AS version FROM ${AGENT_SCHEMA}.migrations`,
  );
  return rows[0]?.version ?? undefined;
}

/** Something in a database that Postgres itself did not bring, as Postgres identifies it. */
export interface MadeObject {
  /** `table`, `function`, `extension`, … */
  readonly type: string;
  /** Name with its schema and its arguments, quoted where needed. */
  readonly identity: string;
}

/** First id of a user's object; those below it are in every database (FirstNormalObjectId). */
const FIRST_OWN = 16_384;

/** Row types and arrays go with what they are of; constraints and defaults with their tables. Large objects choose their numbers. */
const CATALOGS: Readonly<Record<string, string>> = {
  pg_namespace: `nspname NOT LIKE 'pg\\_%'`,
  pg_class: `relkind <> 't' AND relpersistence <> 't'`,
  pg_type: `typrelid = 0 AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = o.oid)`,
  pg_trigger: 'NOT tgisinternal',
  pg_rewrite: `rulename <> '_RETURN'`,
  ...Object.fromEntries(
    [
      'pg_extension',
      'pg_proc',
      'pg_policy',
      'pg_collation',
      'pg_operator',
      'pg_opclass',
      'pg_cast',
      'pg_conversion',
      'pg_ts_config',
      'pg_ts_dict',
      'pg_statistic_ext',
      'pg_language',
      'pg_event_trigger',
      'pg_publication',
      'pg_foreign_server',
      'pg_foreign_data_wrapper',
    ].map((catalog) => [catalog, 'true']),
  ),
};

const OBJECTS = `SELECT found.type, found.identity
  FROM (${Object.entries(CATALOGS)
    .map(
      ([catalog, condition]) =>
        `SELECT '${catalog}'::regclass AS catalog, o.oid FROM ${catalog} o
        WHERE o.oid >= ${FIRST_OWN} AND ${condition}`,
    )
    .join(' UNION ALL ')}
    UNION ALL SELECT 'pg_largeobject'::regclass, oid FROM pg_largeobject_metadata) made,
  LATERAL pg_identify_object(made.catalog, made.oid, 0) found
  WHERE found.schema IS DISTINCT FROM 'pg_toast'
    AND NOT EXISTS (SELECT FROM pg_depend d
      WHERE d.classid = made.catalog AND d.objid = made.oid AND d.deptype = 'e')
  ORDER BY found.type <> 'table', 1, 2`;

/** Everything that was made in a database, except objects of extensions; tables first. */
async function madeObjects(database: Queryable): Promise<readonly MadeObject[]> {
  return (await database.query<MadeObject>(OBJECTS)).rows;
}

/** Objects of one database that another does not have under the same name. */
function missingIn(others: readonly MadeObject[], objects: readonly MadeObject[]): readonly MadeObject[] {
  const key = ({ type, identity }: MadeObject): string => `${type} ${identity}`;
  const known = new Set(others.map(key));
  return objects.filter((object) => !known.has(key(object)));
}

const SHOWN = 5;

/** The first of them by name, and how many there are beside. */
function renderObjects(objects: readonly MadeObject[]): string {
  const shown = objects.slice(0, SHOWN).map(({ type, identity }) => `${type} ${identity}`);
  const rest = objects.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

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
