export { destinationSettings } from './destination-settings.js';
export type { CompletedUpload, MultipartUpload } from './multipart-upload.js';
export type { ObjectStat } from './object-stat.js';
export { ObjectStoreError } from './object-store-error.js';
export type { DestinationCheck, ObjectStore, ObjectStoreSettings } from './object-store.js';
export { openObjectStore } from './open-object-store.js';
export { testDestination, usedWithin } from './test-destination.js';
