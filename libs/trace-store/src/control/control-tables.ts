import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { Pool } from '#lib/postgres';
import type { ControlSchema } from './open-control-source.js';

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

/**
 * The small tables of the control side, owned by TypeORM on the one pool and opened by the first use. The package is
 * loaded no earlier: it takes 12 MB, and the export worker, which has no use for these tables, never loads it.
 */
export class ControlTables {
  #source: Promise<DataSource> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly schema: () => Promise<ControlSchema>,
  ) {}

  async repository<T extends ObjectLiteral>(entity: EntityTarget<T>): Promise<Repository<T>> {
    return (await this.source()).getRepository(entity);
  }

  /** Applies the migrations of these tables that are missing; repeatable. The caller holds the migration lock. */
  async migrate(): Promise<void> {
    await (await this.source()).runMigrations({ transaction: 'each' });
  }

  source(): Promise<DataSource> {
    this.#source ??= this.#open();
    return this.#source;
  }

  /** The pool stays open: it is its owner's. */
  async close(): Promise<void> {
    const source = await this.#source?.catch(() => undefined);
    await source?.destroy();
  }

  async #open(): Promise<DataSource> {
    try {
      const { openControlSource } = await import('./open-control-source.js');
      return await openControlSource(this.pool, await this.schema());
    } catch (error) {
      // the next use tries again
      this.#source = undefined;
      throw error;
    }
  }
}
