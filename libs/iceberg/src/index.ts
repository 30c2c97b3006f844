export type { IcebergColumn, IcebergType } from './schema.js';
export { elementId } from './schema.js';
export {
  type DataFile,
  renderManifest,
  renderManifestList,
  type TableShape,
  type WrittenManifest,
} from './manifest.js';
export {
  type AddedSnapshot,
  currentSnapshot,
  hintKey,
  metadataKey,
  renderTableMetadata,
  type TableMetadata,
} from './table-metadata.js';
