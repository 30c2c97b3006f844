import { chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** Has a test Postgres take connections with TLS too, by a certificate of `selfSigned`. */
export async function encryptPostgres(
  uri: string,
  { key, certificate }: { readonly key: string; readonly certificate: string },
): Promise<void> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    const folder = rows[0]?.data_directory ?? '';
    const { uid, gid } = statSync(folder);
    for (const [name, text] of [
      ['server.crt', certificate],
      ['server.key', key],
    ] as const) {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      chownSync(join(folder, name), uid, gid);
    }
    await client.query('ALTER SYSTEM SET ssl = on');
    await client.query('SELECT pg_reload_conf()');
  } finally {
    await client.end();
  }
}
