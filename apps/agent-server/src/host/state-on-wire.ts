import { isJsonObject, type JsonObject } from '#lib/json';
import type { StateSnapshot, TaskSnapshot } from '../graph/runnable-graph.js';
import { checkpointOf } from '../wire/checkpoint-on-wire.js';
import { toWire } from '../wire/wire-value.js';

function isSnapshot(state: TaskSnapshot['state']): state is StateSnapshot {
  return typeof state === 'object' && state !== null && 'tasks' in state;
}

function taskOnWire({ state, ...task }: TaskSnapshot): JsonObject {
  const shown = toWire(task);
  return {
    ...(isJsonObject(shown) ? shown : {}),
    error: task.error === undefined ? null : toWire(task.error),
    checkpoint: isSnapshot(state) ? checkpointOf(state.config) : checkpointOf(state),
    state: isSnapshot(state) ? stateOnWire(state) : null,
  };
}

/** A state as the wire shows it. */
export function stateOnWire(state: StateSnapshot): JsonObject {
  return {
    values: toWire(state.values),
    next: state.next,
    tasks: state.tasks.map(taskOnWire),
    metadata: toWire(state.metadata ?? {}),
    created_at: state.createdAt ?? null,
    checkpoint: checkpointOf(state.config),
    parent_checkpoint: checkpointOf(state.parentConfig),
    interrupts: state.tasks.flatMap((task) => task.interrupts ?? []).map(toWire),
  };
}
