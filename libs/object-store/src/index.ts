export { destinationSettings, type StoreKeys } from './destination-settings.js';
export type { MultipartUpload, MultipartUploadOptions } from './multipart-upload.js';
export type { ObjectEntry, ObjectStat } from './object-stat.js';
export { EndpointRefusedError, ObjectStoreError } from './object-store-error.js';
export type {
  DestinationCheck,
  DestinationMessage,
  ObjectStore,
  ObjectStoreSettings,
} from './object-store.js';
export { openObjectStore } from './open-object-store.js';
export { testDestination } from './test-destination.js';
