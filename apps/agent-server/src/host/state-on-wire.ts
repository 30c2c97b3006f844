import { isJsonObject, type JsonObject } from '#lib/json';
import type { StateSnapshot, TaskSnapshot } from '../graph/runnable-graph.js';
import { checkpointOf } from '../wire/checkpoint-on-wire.js';
import { errorOnWire, toWire } from '../wire/wire-value.js';

function isSnapshot(state: TaskSnapshot['state']): state is StateSnapshot {
  return typeof state === 'object' && state !== null && 'tasks' in state;
}

/** Address of a subgraph's state that was not read: no more than the library's names for it. */
function namedPlace(config: unknown): JsonObject | null {
  const place = checkpointOf(config);
  return place && Object.fromEntries(Object.entries(place).filter(([, value]) => value !== null));
}

/** `null` for a missing value, as the clients' types have it; an error is a text. */
function taskOnWire({ state, error = null, result = null, ...task }: TaskSnapshot): JsonObject {
  const shown = toWire(task);
  return {
    ...(isJsonObject(shown) ? shown : {}),
    error: error === null ? null : errorOnWire(error).message,
    checkpoint: isSnapshot(state) ? checkpointOf(state.config) : namedPlace(state),
    state: isSnapshot(state) ? stateOnWire(state) : null,
    result: toWire(result),
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
