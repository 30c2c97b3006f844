// The floor: psql COPY of the rows that a part has stored, into the same tables with the same indexes and keys.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

export const TABLES = ['run_keys', 'runs', 'run_payloads', 'run_pairs'];

/** @returns CPU milliseconds of psql */
function psql({ uri }, command) {
  const timed = `TIMEFORMAT='%U %S'; time psql -q -d "$URI" -c "$COMMAND"`;
  const done = spawnSync('bash', ['-c', timed], {
    env: { PATH: process.env.PATH, LC_ALL: 'C', URI: uri, COMMAND: command },
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`psql failed: ${done.stderr}`);
  return done.stderr
    .trim()
    .split(/\s+/)
    .slice(-2)
    .reduce((all, seconds) => all + Number(seconds) * 1000, 0);
}

/** Forgets all runs. */
export async function clear({ pool }) {
  await pool.query(`TRUNCATE ${[...TABLES, 'run_statistics'].join(', ')}`);
  await pool.query('CHECKPOINT');
}

/** @returns CPU milliseconds of Postgres and of psql, which sends binary rows from files */
export async function copyFloor(stand) {
  const columns = {};
  for (const table of TABLES) {
    const { rows } = await stand.pool.query(
      `SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'`,
      [table],
    );
    columns[table] = rows[0].names;
    psql(
      stand,
      `\\copy (SELECT ${columns[table]} FROM ${table}) TO '${join(stand.folder, table)}' (FORMAT binary)`,
    );
  }
  await clear(stand);
  const before = stand.cpu().postgres;
  let sender = 0;
  for (const table of TABLES)
    sender += psql(
      stand,
      `\\copy ${table} (${columns[table]}) FROM '${join(stand.folder, table)}' (FORMAT binary)`,
    );
  const postgres = stand.cpu().postgres - before;
  for (const table of TABLES) rmSync(join(stand.folder, table));
  return { postgres, psql: sender };
}
