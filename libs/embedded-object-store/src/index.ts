export type { Fault, FaultHook, FaultTarget } from './start-object-store.js';
export {
  startObjectStore,
  type EmbeddedObjectStore,
  type EmbeddedObjectStoreOptions,
} from './start-object-store.js';
export { type ObjectName, type OpenedObject, StoredObjects } from './stored-objects.js';
export type { StoreGrant } from './users/store-user.js';
export { StoreUserFile } from './users/store-user-file.js';
