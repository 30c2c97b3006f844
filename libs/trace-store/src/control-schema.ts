import type { ControlSchema } from './control/open-control-source.js';

/** Every table that TypeORM owns. The files are imported on demand: they load TypeORM. */
export async function loadControlSchema(): Promise<ControlSchema> {
  const [
    { ProjectEntity },
    { ApiKeyEntity },
    { ControlTables1763700000000 },
    { ProjectIdsPerTenant1763800000000 },
    { ProjectTimes1763900000000 },
    { ProjectDatasets1764000000000 },
  ] = await Promise.all([
    import('./project/project-entity.js'),
    import('./key/api-key-entity.js'),
    import('./migrations/control-tables-1763700000000.js'),
    import('./migrations/project-ids-per-tenant-1763800000000.js'),
    import('./migrations/project-times-1763900000000.js'),
    import('./migrations/project-datasets-1764000000000.js'),
  ]);
  return {
    entities: [ProjectEntity, ApiKeyEntity],
    migrations: [
      ControlTables1763700000000,
      ProjectIdsPerTenant1763800000000,
      ProjectTimes1763900000000,
      ProjectDatasets1764000000000,
    ],
  };
}
