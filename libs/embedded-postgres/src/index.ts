export {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from './embedded-postgres.js';
export type { DatabaseRequest } from './database.js';
export { type EmbeddedDatabases, embeddedDatabases } from './databases.js';
export { startTemporaryPostgres, type TemporaryPostgres } from './temporary-postgres.js';
