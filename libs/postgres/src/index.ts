export { binaryTexts } from './binary-texts.js';
export { awaitDatabase, mayPass, retryWhileUnavailable } from './await-database.js';
export { CopyBinaryReader, type Tuple } from './copy/copy-binary-reader.js';
export { CopyBinaryWriter } from './copy/copy-binary-writer.js';
export { copyAcross, copyOut } from './copy/copy-across.js';
export { copyIn, type CopyPart } from './copy/copy-in.js';
export {
  inLimitedTransaction,
  TimeLimitError,
  type TimeLimit,
  withinLimit,
  inTransaction,
} from './in-limited-transaction.js';
export { migrate } from './migrate.js';
export type { Migration } from './migrate.js';
export { NoAnswerError } from './no-answer-error.js';
export { Notifications, openConnection, type OwnConnection } from './notifications.js';
export { openPool, REQUEST_ANSWER_MS, type Connection, type Pool, type Queryable } from './open-pool.js';
export { buildPartitionedIndex, type PartitionedIndex } from './partitioned-index.js';
export { isStorageFull, postgresTrouble, sqlState } from './postgres-trouble.js';
export { boundedDocuments, byteRows, textTypes } from './row-types.js';
