export {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type EmbeddedDatabases,
  embeddedDatabases,
} from './embedded-postgres.js';
export type { DatabaseRequest } from './database.js';
export { type BaseBackup, withBaseBackup } from './base-backup/base-backup.js';
export { startTemporaryPostgres, type TemporaryPostgres } from './temporary-postgres.js';
export {
  type ClusterDraft,
  draftCluster,
  hasRunningServer,
  installedMajor,
  removeCluster,
} from './restored-cluster.js';
