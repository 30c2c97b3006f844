export type { Fault, FaultHook, FaultTarget } from './fault.js';
export {
  startObjectStore,
  type EmbeddedObjectStore,
  type EmbeddedObjectStoreOptions,
} from './start-object-store.js';
