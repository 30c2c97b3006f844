import { nameBasedId } from './name-based-id.js';

/** Namespace of the ids that graphs have as assistants, fixed by the wire. */
const SYSTEM_NAMESPACE = '6ba7b821-9dad-11d1-80b4-00c04fd430c8';

/** The uuid of a graph's own assistant. */
export function systemAssistantId(graphId: string): string {
  return nameBasedId(SYSTEM_NAMESPACE, graphId);
}
