import { isJsonObject, type JsonObject } from '#lib/json';

/** The checkpoint that a configuration names; null when it names none. */
export function checkpointOf(config: unknown): JsonObject | null {
  if (!isJsonObject(config) || !isJsonObject(config['configurable'])) return null;
  const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = config['configurable'];
  if (thread_id === undefined) return null;
  return {
    thread_id,
    checkpoint_ns: checkpoint_ns ?? '',
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** A configuration without the keys that only the server may see. */
function publicConfig(config: unknown): unknown {
  if (!isJsonObject(config)) return config;
  const { configurable, tags, metadata, recursionLimit } = config;
  const shown = isJsonObject(configurable)
    ? Object.fromEntries(Object.entries(configurable).filter(([key]) => !key.startsWith('__')))
    : configurable;
  return { configurable: shown, tags, metadata, recursion_limit: recursionLimit };
}

function taskOnWire(task: unknown): unknown {
  if (!isJsonObject(task)) return task;
  const { state, ...other } = task;
  const checkpoint = checkpointOf(state);
  return checkpoint ? { ...other, checkpoint } : task;
}

/** The library's description of a checkpoint, in the names of the wire. */
export function checkpointOnWire(payload: unknown): unknown {
  if (!isJsonObject(payload)) return payload;
  const { config, parentConfig, tasks, ...rest } = payload;
  return {
    ...rest,
    config: publicConfig(config),
    parent_config: publicConfig(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    tasks: Array.isArray(tasks) ? tasks.map(taskOnWire) : tasks,
  };
}
