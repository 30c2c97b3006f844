import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

/** Rows of a query to the trace store's own database, past every program of the platform. */
export async function queryTraceStore(
  dataFolder: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const { postgres } = readJson<{ postgres: number }>(join(dataFolder, 'ports.json'));
  const passwords = readJson<Record<string, string>>(join(dataFolder, 'secrets', 'postgres.json'));
  const client = new pg.Client({
    host: '127.0.0.1',
    port: postgres,
    user: 'agentplane',
    database: 'agentplane',
    password: passwords.agentplane,
  });
  await client.connect();
  try {
    return (await client.query(sql, [...values])).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
