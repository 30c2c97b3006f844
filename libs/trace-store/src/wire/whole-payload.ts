import type { JsonWalk } from '#lib/json';
import { MAX_JSON_DEPTH, validatingJson } from './json-scanner.js';

/** A payload is nested no deeper beside its run than it may be inside of it: waiting updates are stored in one piece. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH - 1;

/** How a payload as a whole is scanned. */
export const WHOLE_PAYLOAD = { levels: MAX_PAYLOAD_DEPTH };

/** A payload of which nothing is read. @throws JsonSyntaxError */
export function* validatePayload(payload: Buffer): JsonWalk<undefined> {
  yield* validatingJson(payload, MAX_PAYLOAD_DEPTH);
}
