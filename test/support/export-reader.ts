import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'minio';
import type { Credentials } from './platform.js';

/** The embedded object store through the MinIO client. */
export function storeClient({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
}: Credentials['objectStore']): Client {
  const url = new URL(endpoint);
  return new Client({
    endPoint: url.hostname,
    port: Number(url.port),
    useSSL: url.protocol === 'https:',
    region,
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    pathStyle: true,
  });
}

/** Every key under a prefix. */
export async function listKeys(client: Client, bucket: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const item of client.listObjectsV2(bucket, prefix, true) as AsyncIterable<{ name?: string }>)
    if (item.name !== undefined) keys.push(item.name);
  return keys.sort();
}

/** Downloads the Parquet files among the keys, keeping their Hive folders; the folder that holds them. */
export async function download(client: Client, bucket: string, keys: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-export-'));
  let at = 0;
  for (const key of keys.filter((name) => name.endsWith('.parquet'))) {
    const chunks: Buffer[] = [];
    for await (const chunk of await client.getObject(bucket, key)) chunks.push(chunk as Buffer);
    writeFileSync(join(folder, `${String(at++).padStart(5, '0')}.parquet`), Buffer.concat(chunks));
  }
  return folder;
}

/** Rows of a DuckDB query; `FILES` stands for the downloaded files. */
export async function duckdb(folder: string, sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(
      sql.replaceAll('FILES', `read_parquet('${folder}/*.parquet')`),
    );
    return reader.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
