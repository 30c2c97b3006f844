/** The first text after all that begin with a label and are not the label itself, in the order of bytes. */
const NEXT = '\u0001';

/**
 * SQL: true when an item `i` is under a prefix, as a range of the primary key.
 * @param bind takes a value of the statement and answers its position
 */
export function underPrefix(prefix: readonly string[], bind: (value: unknown) => string): string {
  const last = prefix.at(-1);
  if (last === undefined) return 'true';
  const end = [...prefix.slice(0, -1), last + NEXT];
  return `i.namespace >= ${bind(prefix)}::text[] AND i.namespace < ${bind(end)}::text[]`;
}
