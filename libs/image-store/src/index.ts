export { takeBuiltAgent } from './built-image.js';
export { keepGraphTypes } from './graph-types/keep-graph-types.js';
export type { GivenContent } from './closed-contents.js';
export {
  findPackageManager,
  hasLockFile,
  readManifest,
  withDevelopment,
} from './dependencies/package-manager.js';
export { isOpenTo, readImageEntries, type ImageReference, workspaceNames } from './image-entries.js';
export {
  openImageStore,
  type ImageStore,
  type ImageStoreOptions,
  type ResolvedImage,
  type StoredImage,
} from './image-store.js';
export { closeEnvironment } from './python/closed-environment.js';
export { findPython, type Python } from './python/find-python.js';
export { installOwnPython } from './python/install-python.js';
export {
  findSecretFiles,
  INSTALL_SETTINGS,
  isLeftOut,
  NOT_CONTENT,
  SECRET_EXAMPLES,
  SECRET_FILES,
  secretsLeftOut,
} from './copy-content.js';
export { describeLibraries } from './require-libraries.js';
