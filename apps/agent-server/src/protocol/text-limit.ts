import { hasMoreValues } from '#lib/json';

/**
 * Limit per text of a graph: 270 MB once it is parsed, as texts of 64 MB may be if they hold nothing but
 * values.
 */
const MAX_VALUES = 4_000_000;

/** Reason for which a text of a graph must not leave its process: its size, or the number of its values. */
export function textTrouble(what: string, text: string, maxBytes: number): string | undefined {
  const bytes = bytesBeyond(text, maxBytes);
  if (bytes !== undefined)
    return `${what} has ${bytes} bytes; the limit is ${maxBytes} (AGENTPLANE_EVENT_MB of the deployment): keep large values outside of the state, or raise it`;
  return hasMoreValues(text, MAX_VALUES)
    ? `${what} holds more than ${MAX_VALUES} items and members of lists and objects: keep large values outside of the state, or as one text`
    : undefined;
}

/** Bytes of a text in UTF-8 when there are more than allowed. */
function bytesBeyond(text: string, maxBytes: number): number | undefined {
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? bytes : undefined;
}
