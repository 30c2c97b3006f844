/**
 * One Kubernetes API server, seen from a program.
 *
 * `loadKubeConnection` finds its address and our credentials, `KubeClient` speaks to it over our own transport. `Informers`
 * follow kinds and keep copies of them; `startControllers` feeds the keys of changed objects to the loop of
 * `#lib/reconcile`, after the first lists and while a `LeaderElector` leads. Reconcilers read the copies, write children
 * with `applyManaged`, statuses with `StatusWriter`, and events with `EventRecorder`.
 */
export {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isQuotaExceeded,
  isRightMissing,
  KubeApiError,
  type KubeErrorCause,
  KubeUnreachableError,
} from './client/kube-api-error.js';
export { KubeClient, type Untyped } from './client/kube-client.js';
export type {
  ApplyOptions,
  DeleteOptions,
  Draft,
  IssuedToken,
  ListOptions,
  Selection,
  TokenRequest,
  WatchEvent,
  WriteOptions,
} from './client/request-options.js';
export { listenForPod, runInPod, type TerminalSize } from './client/pod-streams.js';
export { collectionPath, objectPath } from './client/request-options.js';
export type { KubeConnection } from './connection/kube-connection.js';
export { loadKubeConnection } from './connection/load-kube-connection.js';
export { type FailureReporting, passSubject, type PassSubject } from './controllers/failure-reports.js';
export {
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  type Source,
  startControllers,
  type ControllerSpec,
  type RunningControllers,
} from './controllers/start-controllers.js';
export { discoverResources, type DiscoveredResource } from './discovery/discover-resources.js';
export { EventRecorder } from './events/event-recorder.js';
export { Informer, type Handler } from './informer/informer.js';
export { Informers } from './informer/informers.js';
export { compareVersions } from './informer/store.js';
export type { Change, Reader } from './informer/store.js';
export { Trouble } from './informer/trouble.js';
export { LeaderElector, microTime } from './leader/leader-elector.js';
export {
  applyManaged,
  deleteManaged,
  addFinalizer,
  removeFinalizer,
  belongsTo,
  type ManagingOwner,
} from './writing/apply-managed.js';
export { StatusWriter } from './writing/status-writer.js';
