/** What can be asked of any JSON value: equality, containment, depth, one text for equal values. */
export { jsonContains } from './json-contains.js';
export { isTextDeeperThan, isValueDeeperThan } from './json-depth.js';
export { jsonEquals } from './json-equals.js';
export { isJsonObject, type JsonObject, type MutableJsonObject } from './json-object.js';
export { stableJson } from './stable-json.js';
