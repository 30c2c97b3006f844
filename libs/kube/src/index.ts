/**
 * One Kubernetes API server, seen from a program.
 *
 * `loadKubeConnection` says where it is and who we are, `KubeClient` speaks to it over our own transport. `Informers`
 * follow kinds and keep copies of them; `startControllers` feeds the keys of changed objects to the loop of
 * `#lib/reconcile`, after the first lists and while a `LeaderElector` leads. Reconcilers read the copies, write children
 * with `applyOwned`, statuses with `StatusWriter`, and tell people with `EventRecorder`.
 */
export {
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isNotFound,
  KubeApiError,
  type KubeErrorCause,
  type KubeErrorDetails,
} from './client/kube-api-error.js';
export { KubeClient, type KubeClientOptions, type Untyped } from './client/kube-client.js';
export { KubeUnreachableError } from './client/kube-unreachable-error.js';
export type {
  Applied,
  ApplyOptions,
  DeleteOptions,
  Draft,
  DraftMeta,
  Fields,
  IssuedToken,
  JsonPatchOperation,
  KubeList,
  ListOptions,
  LogOptions,
  ReadOptions,
  Selection,
  TokenRequest,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client/request-options.js';
export { collectionPath, objectPath } from './client/resource-path.js';
export {
  certificateOnly,
  staticToken,
  type KubeAuthorization,
  type KubeConnection,
} from './connection/kube-connection.js';
export { loadKubeConnection, type KubeConnectionOptions } from './connection/load-kube-connection.js';
export { failureEvents } from './controllers/failure-events.js';
export { fromMapped, fromObjects, fromOwned, isDesiredChange, type Source } from './controllers/source.js';
export {
  startControllers,
  type ControllerSpec,
  type RunningControllers,
  type StartControllersOptions,
} from './controllers/start-controllers.js';
export { discoverResources, type DiscoveredResource } from './discovery/discover-resources.js';
export { EventRecorder, type EventRecorderOptions } from './events/event-recorder.js';
export type { EventText } from './events/event-text.js';
export { Informer, type Handler, type InformerOptions } from './informer/informer.js';
export { Informers, type InformersOptions } from './informer/informers.js';
export { compareVersions } from './informer/resource-version.js';
export { NAMESPACE_INDEX, OWNER_INDEX, type Change, type Indexer, type Reader } from './informer/store.js';
export { Trouble } from './informer/trouble.js';
export { LeaderElector, type LeaderElectorOptions } from './leader/leader-elector.js';
export { microTime } from './leader/micro-time.js';
export { applyOwned, type OwnedChild, type Owner } from './writing/apply-owned.js';
export { addFinalizer, removeFinalizer } from './writing/finalizer-writer.js';
export {
  StatusWriter,
  type StatusOf,
  type StatusWriterOptions,
  type WithStatus,
} from './writing/status-writer.js';
