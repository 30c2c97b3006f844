import { validatingJson } from './json-scanner.js';
import type { JsonWalk } from './json-walk.js';
import { reading } from './parse-json.js';

/**
 * The same as {@link parseJson}, yielding to other work in between: for texts of megabytes, whose parsing
 * would block all others. It takes several times as long. Levels are bounded before.
 * @param bytes UTF-8 of the text
 * @throws JsonSyntaxError
 */
export function* parsingJson(bytes: Buffer, text: string, levels: number): JsonWalk<unknown> {
  yield* validatingJson(bytes, levels);
  return yield* reading(text);
}
