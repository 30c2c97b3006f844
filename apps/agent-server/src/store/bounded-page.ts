/** What the rows of one answer may take to be read: some 25 MB of text, or a million and a half values. */
const MAX_COST = 32 * 1024 * 1024;

export interface BoundedPage {
  /** What is answered, of `alias`. */
  readonly columns: string;
  readonly alias: string;
  /** Statement of the page in its order, with those columns at least. */
  readonly rows: string;
  /** Columns that may hold much. */
  readonly large: readonly string[];
  /** What its rows may take to be read; of a page that is answered as text, by default. */
  readonly maxCost?: number;
}

/** SQL, as a column of a bounded page: how many rows the page has without the bound. */
export const ROWS_OF_PAGE = '(SELECT count(*)::int FROM page)';

/**
 * SQL: the rows of a page, up to the one with which they have become too many bytes for one answer. A page of a thousand
 * rows would otherwise be held in memory whole, whatever they hold. Rows are looked at one after another, and none behind
 * the last that is answered: their lengths as they are stored say little, since a few kilobytes become megabytes.
 */
export function boundedPage({ columns, alias, rows, large, maxCost = MAX_COST }: BoundedPage): string {
  const costs = large.map((column) => `agentplane.reading_cost(p.${column}::text)`);
  const cost = costs.length > 0 ? costs.join(' + ') : '0::bigint';
  return `WITH RECURSIVE page AS MATERIALIZED (
      SELECT listed.*, row_number() OVER () AS page_place FROM (${rows}) listed),
    taken AS (
      SELECT p.page_place, ${cost} AS page_cost FROM page p WHERE p.page_place = 1
      UNION ALL
      SELECT p.page_place, t.page_cost + ${cost} FROM taken t JOIN page p ON p.page_place = t.page_place + 1
      WHERE t.page_cost < ${maxCost})
    SELECT ${columns} FROM page ${alias} JOIN taken USING (page_place) ORDER BY page_place`;
}
