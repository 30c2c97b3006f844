import type { Connection } from './open-pool.js';

/** An index of a partitioned table. */
export interface PartitionedIndex {
  /** Begins with the table's name and an underscore; those of the partitions are named after them likewise. */
  readonly name: string;
  readonly table: string;
  /** Columns and condition: `(a, b) WHERE c`. */
  readonly on: string;
}

const WITHOUT_INDEX = `
SELECT c.relname AS partition FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = $1::regclass AND NOT EXISTS (
  SELECT FROM pg_inherits part JOIN pg_index x ON x.indexrelid = part.inhrelid
  WHERE part.inhparent = $2::regclass AND x.indrelid = c.oid)
ORDER BY c.relname`;

/**
 * Builds an index while the table is written to: one partition after another, concurrently, each attached when it is done.
 * The table's own index becomes valid with the last of them; partitions made meanwhile bring theirs. Outside of a
 * transaction. Repeatable: after a kill the next call continues with the partitions that are left.
 */
export async function buildPartitionedIndex(
  connection: Connection,
  { name, table, on }: PartitionedIndex,
): Promise<void> {
  await connection.query(`CREATE INDEX IF NOT EXISTS ${name} ON ONLY ${table} ${on}`);
  const suffix = name.slice(table.length);
  for (;;) {
    const { rows } = await connection.query<{ partition: string }>(WITHOUT_INDEX, [table, name]);
    if (rows.length === 0) return;
    for (const { partition } of rows) {
      const own = `${partition}${suffix}`;
      // one that a killed build left behind is invalid
      await connection.query(`DROP INDEX CONCURRENTLY IF EXISTS ${own}`);
      await connection.query(`CREATE INDEX CONCURRENTLY ${own} ON ${partition} ${on}`);
      await connection.query(`ALTER INDEX ${name} ATTACH PARTITION ${own}`);
    }
  }
}
