export { binaryTexts } from './binary-texts.js';
export { awaitDatabase } from './await-database.js';
export { CopyBinaryReader, type Tuple } from './copy/copy-binary-reader.js';
export { CopyBinaryWriter } from './copy/copy-binary-writer.js';
export { copyAcross } from './copy/copy-across.js';
export { copyIn, type CopyPart } from './copy/copy-in.js';
export { copyOut } from './copy/copy-out.js';
export {
  inLimitedTransaction,
  TimeLimitError,
  type TimeLimit,
  withinLimit,
} from './in-limited-transaction.js';
export { inTransaction } from './in-transaction.js';
export { mayPass } from './may-pass.js';
export { migrate } from './migrate.js';
export type { Migration } from './migration.js';
export { NoAnswerError } from './no-answer-error.js';
export { Notifications } from './notifications.js';
export { openConnection, type OwnConnection } from './open-connection.js';
export { openPool, type Connection, type Pool, type Queryable } from './open-pool.js';
export { buildPartitionedIndex, type PartitionedIndex } from './partitioned-index.js';
export { isStorageFull, postgresTrouble, sqlState } from './postgres-trouble.js';
export { retryWhileUnavailable } from './retry-while-unavailable.js';
export { boundedDocuments, byteRows, textTypes } from './row-types.js';
