import type { Queryable } from '#lib/postgres';

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
export async function madeObjects(database: Queryable): Promise<readonly MadeObject[]> {
  return (await database.query<MadeObject>(OBJECTS)).rows;
}

/** Objects of one database that another does not have under the same name. */
export function missingIn(
  others: readonly MadeObject[],
  objects: readonly MadeObject[],
): readonly MadeObject[] {
  const key = ({ type, identity }: MadeObject): string => `${type} ${identity}`;
  const known = new Set(others.map(key));
  return objects.filter((object) => !known.has(key(object)));
}

const SHOWN = 5;

/** The first of them by name, and how many there are beside. */
export function renderObjects(objects: readonly MadeObject[]): string {
  const shown = objects.slice(0, SHOWN).map(({ type, identity }) => `${type} ${identity}`);
  const rest = objects.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
