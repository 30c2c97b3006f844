import type { Queryable } from '#lib/postgres';

/**
 * Removes fences of exports that were not used for a week. An export takes 72 hours at most and an attempt
 * four, and once the controller has ended a cancelled export the row of each of its runs rejects late
 * attempts.
 */
export async function tidyFences(pool: Queryable): Promise<void> {
  await pool.query(`DELETE FROM export_fences f WHERE updated_at < now() - interval '7 days'
    AND NOT EXISTS (SELECT FROM export_progress p
      WHERE p.export_uid = f.export_uid AND p.state IN ('running', 'failed', 'held'))`);
}
