import { type JsonWalk, MAX_JSON_DEPTH, skipSpace, validatingJson } from '#lib/json';

/** A payload is nested no deeper beside its run than it may be inside of it: waiting updates are stored in one piece. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH - 1;

/** Options for scanning a payload as a whole. */
export const WHOLE_PAYLOAD = { levels: MAX_PAYLOAD_DEPTH };

/** A payload of which nothing is read. @throws JsonSyntaxError */
export function* validatePayload(payload: Buffer): JsonWalk<undefined> {
  yield* validatingJson(payload, MAX_PAYLOAD_DEPTH);
}

/** White space behind a value that is left out; a scan skips the rest. */
const MAX_SPACE = 65_536;

/** The text without the white space around the value. @throws JsonSyntaxError */
export function trimmed(bytes: Buffer): Buffer {
  let end = bytes.length;
  const least = Math.max(0, end - MAX_SPACE);
  while (end > least && (bytes[end - 1] ?? 0) <= 0x20) end--;
  return bytes.subarray(skipSpace(bytes, 0), end);
}
