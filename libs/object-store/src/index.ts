export { destinationSettings, keysOfSecret, openObjectStore } from './open-object-store.js';
export type { CompletedUpload, MultipartUpload } from './multipart-upload.js';
export type { ObjectStat } from './object-stat.js';
export { ObjectStoreError } from './object-store-error.js';
export type { DestinationCheck, ObjectStore, ObjectStoreSettings } from './object-store.js';
export { PLATFORM_STORE_FIELDS, platformStoreSettings, type PlatformStoreConfig } from './platform-store.js';
export { readObject } from './read-object.js';
export { testDestination, usedWithin } from './test-destination.js';
