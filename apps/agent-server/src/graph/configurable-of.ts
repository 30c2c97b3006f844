import type { JsonObject } from '#lib/json';

/** Key under which a graph finds the checkpointer of one call; the graph object itself is shared and stays as it is. */
export const CHECKPOINTER_KEY = '__pregel_checkpointer';

/**
 * Keys that requests cannot set: `__` keys steer the library itself, and the start of a run has a separate
 * field.
 */
const RESERVED = /^(__|checkpoint_(id|ns|map)$)/;

/** Keys of the caller: only the server sets them. */
const CALLER = /^(langgraph_auth_(user|user_id|permissions)|graph_auth_user)$/;

/** Removes the fields of the caller, which requests and assistants may not set. */
export function withoutCaller(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !CALLER.test(key)));
}

/**
 * The `configurable` of a run or of a question about a state.
 * @param given by requests and assistants; reserved keys are left out: an attempt that continues from where
 *   another stopped must not find the beginning of the first
 * @param own of the server, which replace the given ones
 */
export function configurableOf(
  given: JsonObject | null | undefined,
  ...own: readonly JsonObject[]
): Record<string, unknown> {
  const permitted = Object.fromEntries(
    Object.entries(withoutCaller(given ?? {})).filter(([key]) => !RESERVED.test(key)),
  );
  return Object.assign(permitted, ...own);
}
