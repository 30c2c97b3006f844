/**
 * Reconciliation of desired and observed state, without any I/O.
 *
 * A `Controller` takes keys from a `WorkQueue` and runs one `Reconcile` pass for each; the pass answers with
 * a `Result` or throws, and the class of the thrown value (`classifyFailure`) decides about requeue, event
 * and log. Shared parts of passes are pure: conditions and their summary `Ready`, the finalizer protocol,
 * owner references, the rule of `observedGeneration`. Clients and caches are in `#lib/kube`.
 */
export {
  Controller,
  type ControllerOptions,
  type PassReport,
  type PassReports,
  after,
  done,
  wait,
  type Result,
} from './controller.js';
export type { Failure } from './controller.js';
export { finalizerStep, hasFinalizer, controllerOf, controllerReference, isOwnedBy } from './owner.js';
export type { Log } from './controller.js';
export { isStatusCurrent, observedGeneration, summarizeReady, type ReadyRule } from './ready.js';
