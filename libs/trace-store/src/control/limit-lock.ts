import type { EntityManager } from 'typeorm';

/** Any number that no other lock of this database begins with, for each table with a limit. */
const LOCKS = { api_keys: 7_214_011, projects: 7_214_012 } as const;

/**
 * Serialises additions of rows of one tenant, so that the counts stay true until the transaction ends. Two
 * tenants whose ids have the same hash wait for one another.
 */
export async function takeLimitLock(
  manager: EntityManager,
  table: keyof typeof LOCKS,
  tenantId: string,
): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCKS[table], tenantId]);
}
