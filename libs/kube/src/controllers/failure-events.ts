import type { Failure } from '#lib/reconcile';
import type { KubeObject, ObjectKey, ResourceRef } from '#lib/resources';
import type { EventRecorder } from '../events/event-recorder.js';
import type { Reader } from '../informer/store.js';

/**
 * For `onFailure` of a controller: failed passes become events, which `kubectl describe` shows. The text of a transient error may
 * name hosts and users, so its event only names the log to read.
 */
export function failureEvents<T extends KubeObject>(
  events: Pick<EventRecorder, 'record'>,
  ref: ResourceRef<T>,
  objects: Pick<Reader<T>, 'find'>,
): (key: ObjectKey, failure: Failure) => void {
  return (key, failure) => {
    const object = objects.find(key);
    if (!object || failure.kind === 'waiting' || failure.kind === 'conflict') return;
    const message =
      failure.kind === 'terminal'
        ? failure.message
        : 'retrying after an error; see the log of the program that reports this';
    events.record(ref, object, { type: 'Warning', reason: failure.reason, message });
  };
}
