import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Pool } from '#lib/postgres';

/** Classes of entities and migrations. */
export type ControlSchema = Pick<DataSourceOptions, 'entities' | 'migrations'>;

/**
 * The members that TypeORM asks of the driver's module, answered with the existing pool: TypeORM makes pools
 * of its own otherwise, and has no option for an existing one. The owner of the pool keeps its events and its
 * end.
 */
function lending(pool: Pool): object {
  return {
    Pool: class LentPool {
      connect(callback: Parameters<Pool['connect']>[0]): void {
        pool.connect(callback);
      }

      on(): void {
        // the pool's owner listens to its errors
      }

      end(callback: () => void): void {
        callback();
      }
    },
  };
}

/** Opens TypeORM on the pool. This file is imported on demand. */
export async function openControlSource(pool: Pool, schema: ControlSchema): Promise<DataSource> {
  const source = new DataSource({
    ...schema,
    type: 'postgres',
    driver: lending(pool),
    migrationsTableName: 'control_migrations',
    installExtensions: false,
    synchronize: false,
  });
  return source.initialize();
}
