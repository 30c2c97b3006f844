import type { Failure } from '#lib/reconcile';
import type { KubeObject, ObjectKey, ResourceRef } from '#lib/resources';
import type { EventRecorder } from '../events/event-recorder.js';
import type { Reader } from '../informer/store.js';

/**
 * For `onFailure` of a controller: failed passes are told where `kubectl describe` shows them. The text of what is tried
 * again may name hosts and users, so the event only says that, and where to look.
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
        : 'trying again after an error; see the log of the program that reports this';
    events.record(ref, object, { type: 'Warning', reason: failure.reason, message });
  };
}
