/** Functions on any JSON value: equality, containment, depth, ambiguities, one text for equal values. */
export { jsonContains } from './json-contains.js';
export { findInvalidUtf8 } from './find-invalid-utf8.js';
export { hasMoreValues } from './has-more-values.js';
export { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-codes.js';
export {
  type ByteRange,
  eachItem,
  eachMember,
  expectEnd,
  isAt,
  JsonSyntaxError,
  MAX_JSON_DEPTH,
  skipSpace,
  validateJson,
  validatingJson,
} from './json-scanner.js';
export { isTextDeeperThan, isValueDeeperThan } from './json-depth.js';
export {
  atOnce,
  inTurns,
  itemsOf,
  membersOf,
  valueAt,
  type JsonMember,
  type JsonSpan,
  type JsonStep,
  type JsonWalk,
} from './json-walk.js';
export { jsonEquals } from './json-equals.js';
export { isJsonObject, type JsonObject, type MutableJsonObject } from './json-object.js';
export { at, listAt, numberAt, own, recordAt, textAt, textsAt } from './json-reading.js';
export { findingJsonTrouble, findJsonTrouble, type JsonRules, type JsonTrouble } from './json-trouble.js';
export {
  exactInteger,
  exactIntegers,
  parseExactJson,
  parseJson,
  reading as readingValidJson,
} from './parse-json.js';
export { parsingJson } from './parsing-json.js';
export { parseShort } from './parse-short.js';
export { renderTrouble } from './render-trouble.js';
export { stableJson } from './stable-json.js';
