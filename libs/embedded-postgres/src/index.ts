export {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from './embedded-postgres.js';
export type { DatabaseRequest } from './database.js';
export { type BaseBackup, withBaseBackup } from './base-backup/base-backup.js';
export { type EmbeddedDatabases, embeddedDatabases } from './databases.js';
export { startTemporaryPostgres, type TemporaryPostgres } from './temporary-postgres.js';
export {
  type ClusterDraft,
  draftCluster,
  hasRunningServer,
  installedMajor,
  removeCluster,
} from './restored-cluster.js';
