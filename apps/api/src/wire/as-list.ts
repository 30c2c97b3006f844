/** A parameter of the query that may be repeated: a single one is a list of one. */
export function asList({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? [value] : value;
}
