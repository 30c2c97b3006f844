import { DataSource } from 'typeorm';
import { ApiKeyEntity } from './api-key-entity.js';
import { ProjectEntity } from './project-entity.js';

const POOL_SIZE = 2;

/** The small tables through TypeORM. This file is imported on demand: the package takes 12 MB. */
export async function openControlSource(uri: string): Promise<DataSource> {
  const source = new DataSource({
    type: 'postgres',
    url: uri,
    entities: [ProjectEntity, ApiKeyEntity],
    installExtensions: false,
    synchronize: false,
    poolSize: POOL_SIZE,
    applicationName: 'agentplane control tables',
    extra: { idleTimeoutMillis: 30_000, connectionTimeoutMillis: 10_000 },
  });
  return source.initialize();
}
