/** A parameter of the query that may stand there several times: one is a list of one. */
export function asList({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? [value] : value;
}
