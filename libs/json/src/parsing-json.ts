import { validatingJson } from './json-scanner.js';
import type { JsonWalk } from './json-walk.js';
import { reading } from './parse-json.js';

/**
 * As {@link parseJson}, with turns for others in between: for texts of megabytes, whose parsing would hold everybody up.
 * It takes several times as long. Levels are bounded before.
 * @param bytes UTF-8 of the text
 * @throws JsonSyntaxError
 */
export function* parsingJson(bytes: Buffer, text: string, levels: number): JsonWalk<unknown> {
  yield* validatingJson(bytes, levels);
  return yield* reading(text);
}
