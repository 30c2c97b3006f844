/** Most that reading the rows of one answer may cost: some 25 MB of text, or a million and a half values. */
const MAX_COST = 32 * 1024 * 1024;

export interface BoundedPage {
  /** Columns of the answer, from `alias`. */
  readonly columns: string;
  readonly alias: string;
  /** Statement of the page in its order, with those columns at least. */
  readonly rows: string;
  /** Columns that may hold much. */
  readonly large: readonly string[];
  /** Most that reading its rows may cost; by default the limit of a page that is answered as text. */
  readonly maxCost?: number;
}

/** SQL, as a column of a bounded page: how many rows the page has without the bound. */
export const ROWS_OF_PAGE = '(SELECT count(*)::int FROM page)';

/**
 * SQL: the rows of a page, up to the one with which they exceed the bytes of one answer. Otherwise a page of
 * a thousand rows would be held in memory in full, whatever the rows hold. Rows are read one after another,
 * and none behind the last that is answered: their stored lengths say little, since a few kilobytes become
 * megabytes.
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
