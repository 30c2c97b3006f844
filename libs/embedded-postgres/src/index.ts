export {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from './embedded-postgres.js';
export type { DatabaseRequest } from './database.js';
export { startTemporaryPostgres, type TemporaryPostgres } from './temporary-postgres.js';
