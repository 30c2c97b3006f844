/** Engines that `agentplane export ddl` has statements for. */
export const DDL_ENGINES = ['athena', 'bigquery', 'snowflake', 'clickhouse', 'duckdb', 'iceberg'] as const;
export type DdlEngine = (typeof DDL_ENGINES)[number];
