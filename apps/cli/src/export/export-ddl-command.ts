import { type FormatVersion, partitionFolder } from '#lib/export-plan';
import { RestClient } from '#lib/rest-client';
import { EXPORT_COLUMNS, type ExportColumn } from '#lib/trace-store';
import { CommandError } from '../command-error.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';
import { type DestinationConfig, destinationOf, readExport } from './find-export.js';
import { DDL_ENGINES, type DdlEngine } from './ddl-engine.js';

export interface ExportDdlFlags extends TargetFlags {
  readonly for: DdlEngine | undefined;
}

interface ExportAnswer {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly start_time: string;
  readonly end_time: string;
  readonly format: string;
  readonly format_version: 'v1' | 'v2_beta';
  readonly export_fields: readonly string[] | null;
}

/** `agentplane export ddl NAME --for ENGINE`: statements that make a table over the files of an export. */
export async function printDdl(given: string, flags: ExportDdlFlags): Promise<void> {
  if (flags.for === undefined)
    throw new CommandError('usage', `name the engine: --for ${DDL_ENGINES.join('|')}`);
  const target = resolveTarget(flags);
  const rest = new RestClient(target.rest);
  const found = await readExport<ExportAnswer>(target, rest, given);
  const deed = `rendering the table of export ${given}`;
  if (found.format !== 'Parquet')
    throw new CommandError(
      'failed',
      `${deed} failed: its files are lines of JSON; docs/reading-exports.md has lines that read these`,
    );
  const config = await destinationOf(rest, found, deed);
  const { export_fields: fields, format_version: formatVersion } = found;
  const day = partitionFolder({
    prefix: config.prefix,
    exportId: found.id,
    tenantId: found.tenant_id,
    projectId: found.session_id,
    formatVersion,
    day: found.start_time.slice(0, 10),
  });
  const folder = day.slice(0, day.indexOf('/year='));
  const yearOf = (time: string): number => Number(time.slice(0, 4));
  print(
    renderDdl(flags.for, {
      name: 'agentplane_runs',
      columns: EXPORT_COLUMNS.filter(({ name }) => fields?.includes(name) ?? true),
      formatVersion,
      folder: `s3://${config.bucket_name}/${folder}`,
      url: `${storeUrl(config)}/${folder}`,
      years: [yearOf(found.start_time), yearOf(found.end_time)],
    }),
  );
}

/** The address of the bucket over HTTP, without a slash at its end. */
function storeUrl(config: DestinationConfig): string {
  const endpoint = config.endpoint_url ?? `https://s3.${config.region ?? 'us-east-1'}.amazonaws.com`;
  const root = endpoint.replace(/\/+$/, '');
  return config.include_bucket_in_prefix ? `${root}/${config.bucket_name}` : root;
}

/** The kinds of columns that engines have types for. */
type Kind = 'text' | 'list' | 'timestamp' | 'bool' | 'int64' | 'double' | 'decimal';

/** `v1` has lists as JSON text. */
const KIND: Readonly<Record<ExportColumn['fileType'][FormatVersion], Kind>> = {
  uuid: 'text',
  text: 'text',
  'uuid-list-as-text': 'text',
  'text-list-as-text': 'text',
  'uuid-list': 'list',
  'text-list': 'list',
  timestamp: 'timestamp',
  bool: 'bool',
  int64: 'int64',
  double: 'double',
  decimal: 'decimal',
};

const HIVE = {
  text: 'string',
  list: 'array<string>',
  timestamp: 'timestamp',
  bool: 'boolean',
  int64: 'bigint',
  double: 'double',
  decimal: 'decimal(18,10)',
};

const TYPE: Readonly<Record<DdlEngine, Readonly<Record<Kind, string>>>> = {
  athena: HIVE,
  iceberg: HIVE,
  // NUMERIC has nine digits after the point
  bigquery: {
    text: 'STRING',
    list: 'ARRAY<STRING>',
    timestamp: 'TIMESTAMP',
    bool: 'BOOL',
    int64: 'INT64',
    double: 'FLOAT64',
    decimal: 'BIGNUMERIC(28, 10)',
  },
  snowflake: {
    text: 'VARCHAR',
    list: 'ARRAY',
    timestamp: 'TIMESTAMP_TZ(6)',
    bool: 'BOOLEAN',
    int64: 'NUMBER(19, 0)',
    double: 'DOUBLE',
    decimal: 'NUMBER(18, 10)',
  },
  clickhouse: {
    text: 'String',
    list: 'Array(String)',
    timestamp: "DateTime64(6, 'UTC')",
    bool: 'Bool',
    int64: 'Int64',
    double: 'Float64',
    decimal: 'Decimal(18, 10)',
  },
  duckdb: {
    text: 'VARCHAR',
    list: 'VARCHAR[]',
    timestamp: 'TIMESTAMPTZ',
    bool: 'BOOLEAN',
    int64: 'BIGINT',
    double: 'DOUBLE',
    decimal: 'DECIMAL(18,10)',
  },
};

/** A table over the files of an export. */
export interface DdlTable {
  readonly name: string;
  /** Columns of the files, in their order. */
  readonly columns: readonly Pick<ExportColumn, 'name' | 'fileType' | 'nullable'>[];
  readonly formatVersion: FormatVersion;
  /** Folder above year, month and day, without a slash at its end: below it no column is a folder too. */
  readonly folder: string;
  /** The same over HTTP, for engines that take no s3:// address. */
  readonly url: string;
  /** Years that the export has days of. */
  readonly years: readonly [number, number];
}

/** The statements that make the table in an engine. */
export function renderDdl(engine: DdlEngine, table: DdlTable): string {
  const columns = table.columns.map(({ name, fileType, nullable }) => ({
    name,
    type: TYPE[engine][KIND[fileType[table.formatVersion]]],
    isList: KIND[fileType[table.formatVersion]] === 'list',
    nullable,
  }));
  const list = (line: (column: (typeof columns)[number]) => string): string =>
    columns.map((column) => `  ${line(column)}`).join(',\n');
  const { name, folder, url, years } = table;
  switch (engine) {
    case 'athena':
      return `CREATE EXTERNAL TABLE \`${name}\` (
${list((column) => `\`${column.name}\` ${column.type}`)}
)
PARTITIONED BY (\`year\` int, \`month\` int, \`day\` int)
STORED AS PARQUET
LOCATION ${quoted(`${folder}/`)}
TBLPROPERTIES (
  'projection.enabled' = 'true',
  'projection.year.type' = 'integer', 'projection.year.range' = '${years.join(',')}',
  'projection.month.type' = 'integer', 'projection.month.range' = '1,12',
  'projection.day.type' = 'integer', 'projection.day.range' = '1,31',
  'storage.location.template' = ${quoted(`${folder}/year=\${year}/month=\${month}/day=\${day}/`)}
);
`;
    case 'bigquery': {
      const bucket = folder.replace(/^s3:/, 'gs:');
      return `-- s3:// in place of gs:// needs WITH CONNECTION (BigQuery Omni)
CREATE EXTERNAL TABLE \`DATASET.${name}\` (
${list((column) => `\`${column.name}\` ${column.type}`)}
)
WITH PARTITION COLUMNS (year INT64, month INT64, day INT64)
OPTIONS (
  format = 'PARQUET',
  enable_list_inference = TRUE,
  hive_partition_uri_prefix = ${quoted(bucket)},
  uris = [${quoted(`${bucket}/*.parquet`)}]
);
`;
    }
    case 'snowflake':
      return `CREATE STAGE "${name}_stage" URL = ${quoted(`${folder}/`)} STORAGE_INTEGRATION = YOUR_INTEGRATION;
CREATE TABLE "${name}" (
${list((column) => `"${column.name}" ${column.type}${column.nullable ? '' : ' NOT NULL'}`)}
);
COPY INTO "${name}" FROM @"${name}_stage"
  FILE_FORMAT = (TYPE = PARQUET USE_VECTORIZED_SCANNER = TRUE USE_LOGICAL_TYPE = TRUE)
  MATCH_BY_COLUMN_NAME = CASE_SENSITIVE PATTERN = '.*[.]parquet';
`;
    case 'clickhouse':
      return `CREATE TABLE \`${name}\` (
${list(({ name: column, type, isList, nullable }) => `\`${column}\` ${nullable && !isList ? `Nullable(${type})` : type}`)}
)
ENGINE = S3(${quoted(`${url}/**/*.parquet`)}, 'Parquet');
`;
    case 'duckdb':
      return `CREATE VIEW "${name}" AS SELECT
${list((column) => `"${column.name}"::${column.type} AS "${column.name}"`)},
  year, month, day
FROM read_parquet(${quoted(`${folder}/**/*.parquet`)}, hive_partitioning = true,
  hive_types = {'year': BIGINT, 'month': BIGINT, 'day': BIGINT});
`;
    case 'iceberg':
      return `CREATE TABLE \`${name}\` (
${list((column) => `\`${column.name}\` ${column.type}${column.nullable ? '' : ' NOT NULL'}`)}
) USING iceberg;
-- then, in PyIceberg: table.add_files([...]) with the keys that the manifests name
`;
    default:
      return engine satisfies never;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
