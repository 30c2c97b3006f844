/**
 * The data folder of a platform, for its owner and its clients: the paths of its files, the content of
 * `credentials.json`, the check for a running platform, and the lock that gives a folder one owner. Making a
 * platform's folder belongs to apps/platform alone.
 */
export {
  ATTACHMENT_BUCKET,
  ATTACHMENT_PREFIX,
  findDiskTrouble,
  FIRST_WORKSPACE,
  LAKE_PREFIX,
  DEFAULT_DATA,
  DEFAULT_LISTEN,
  INSTALLATION,
  packagesOf,
} from './installation.js';
export {
  readCredentials,
  writeCredentials,
  type PlatformCredentials,
  type StoreCredentials,
  type TlsAddress,
  readJson,
  writeJson,
} from './credentials.js';
export {
  dataPaths,
  type DataPaths,
  takeLock,
  type Lock,
  type LockOwner,
  findOwner,
  findRunningPlatform,
  nothingRuns,
  UP_LOCK,
  type RunningPlatform,
  requireOwnFolder,
} from './running-platform.js';
export {
  isCertificatePair,
  readCertificateFacts,
  readServerCertificate,
  type CertificateFacts,
  type CertificateFiles,
} from './certificate-files.js';
