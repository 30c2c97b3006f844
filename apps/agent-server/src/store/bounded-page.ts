/** As they are stored, most of them compressed: the texts are three to eight times as long. */
const MAX_STORED_BYTES = 8 * 1024 * 1024;

export interface BoundedPage {
  /** What is answered, of `alias`. */
  readonly columns: string;
  readonly alias: string;
  /** Statement of the page in its order, with those columns at least. */
  readonly rows: string;
  /** Columns that may hold much. */
  readonly large: readonly string[];
}

/**
 * SQL: the rows of a page, up to the one with which they have become too many bytes for one answer. A page of a thousand
 * rows would otherwise be held in memory whole, whatever they hold. Sizes are known without reading the values.
 */
export function boundedPage({ columns, alias, rows, large }: BoundedPage): string {
  const size = large.map((column) => `coalesce(pg_column_size(page.${column}), 0)`).join(' + ');
  return `SELECT ${columns} FROM (
      SELECT page.*, row_number() OVER () AS place, sum(${size}) OVER (ROWS UNBOUNDED PRECEDING) - (${size}) AS stored_before
      FROM (${rows}) page) ${alias}
    WHERE ${alias}.stored_before < ${MAX_STORED_BYTES} ORDER BY ${alias}.place`;
}
