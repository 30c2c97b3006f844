import { type Connection } from '#lib/postgres';
import { replaceTotals } from './trace-totals.js';

/**
 * Adds up the traces of a store from before there were totals, a project in a transaction: a killed process
 * begins again.
 */
export async function fillTotals(connection: Connection): Promise<void> {
  const { rows } = await connection.query<{ tenant_id: string; id: string }>(
    'SELECT tenant_id, id FROM projects ORDER BY tenant_id, id',
  );
  for (const { tenant_id: tenantId, id } of rows) {
    await connection.query('BEGIN');
    try {
      await replaceTotals(connection, tenantId, id);
      await connection.query('COMMIT');
    } catch (error) {
      await connection.query('ROLLBACK');
      throw error;
    }
  }
}
