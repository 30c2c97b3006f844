/** Bytes of a text in UTF-8 when there are more than allowed. */
export function bytesBeyond(text: string, maxBytes: number): number | undefined {
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? bytes : undefined;
}

/** What to do about a text of a graph that is too large. */
export function tooLargeText(what: string, bytes: number, maxBytes: number): string {
  return `${what} has ${bytes} bytes; the limit is ${maxBytes} (AGENTPLANE_EVENT_MB of the deployment): keep large values outside of the state, or raise it`;
}
