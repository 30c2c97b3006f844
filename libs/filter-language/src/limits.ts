/** Cost limits of one filter before it reaches a database. Errors name the limit. */
export const FILTER_LIMITS = Object.freeze({
  /** Length of the whole text, in UTF-16 units. */
  characters: 8_192,
  /** Calls within calls. */
  levels: 10,
  /** Calls in all: conditions, `and`, `or`, `not`. */
  calls: 200,
  listItems: 200,
  /** Conditions that read more than the row of a run: each is a subquery, and may hold a payload while it lasts. */
  lookups: 10,
  /**
   * Size of `extra`, `inputs` and `outputs` that are taken apart: as `jsonb` they may take eighty times of
   * it.
   */
  readBytes: 262_144,
  /** Characters of each payload that is read as a text, from its beginning. */
  searchedCharacters: 1_048_576,
  numberCharacters: 40,
  /** Characters of values of pairs: the store keeps this many characters of each. */
  pairValueCharacters: 250,
  /** Levels of the JSON in `has(metadata, …)`. */
  jsonLevels: 20,
});
