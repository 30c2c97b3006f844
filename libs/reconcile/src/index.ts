/**
 * Reconciliation of desired and observed state, without any I/O.
 *
 * A `Controller` takes keys from a `WorkQueue` and runs one `Reconcile` pass for each; the pass answers with
 * a `Result` or throws, and the class of the thrown value (`classifyFailure`) decides about requeue, event
 * and log. Shared parts of passes are pure: conditions and their summary `Ready`, the finalizer protocol,
 * owner references, the rule of `observedGeneration`. Clients and caches are in `#lib/kube`.
 */
export { Controller, type ControllerOptions, type PassReport, type PassReports } from './controller.js';
export type { Failure } from './failure.js';
export { finalizerStep, hasFinalizer } from './finalizer.js';
export type { Log } from './log.js';
export { isStatusCurrent, observedGeneration } from './observed-generation.js';
export { controllerOf, controllerReference, isOwnedBy } from './owner.js';
export { summarizeReady, type ReadyRule } from './ready.js';
export { after, done, wait, type Result } from './result.js';
