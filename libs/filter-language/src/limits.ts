/** What one filter may cost before it reaches a database. Errors name the limit. */
export const FILTER_LIMITS = Object.freeze({
  /** Of the whole text, in UTF-16 units. */
  characters: 8_192,
  /** Calls within calls. */
  levels: 10,
  /** Calls in all: conditions, `and`, `or`, `not`. */
  calls: 200,
  listItems: 200,
  /** Each reads all payloads of a run. */
  searches: 10,
  numberCharacters: 40,
  /** Of values of pairs: the store keeps this many characters of each. */
  pairValueCharacters: 250,
  /** Levels of the JSON in `has(metadata, …)`. */
  jsonLevels: 20,
});
