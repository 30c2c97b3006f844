import type { ControlSchema } from './control/open-control-source.js';

/** Every table that TypeORM owns. The files are imported on demand: they load TypeORM. */
export async function loadControlSchema(): Promise<ControlSchema> {
  const [{ ProjectEntity }, { ApiKeyEntity }, { CONTROL_MIGRATIONS }] = await Promise.all([
    import('./project/project-entity.js'),
    import('./key/api-key-entity.js'),
    import('./migrations/control-tables.js'),
  ]);
  return {
    entities: [ProjectEntity, ApiKeyEntity],
    migrations: CONTROL_MIGRATIONS,
  };
}
