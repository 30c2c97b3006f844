import pg from 'pg';

/** text[] and uuid[] */
const ARRAYS: ReadonlySet<number> = new Set([1009, 2951]);

/**
 * For `query({types})`: every value as the text that Postgres prints, arrays of text and uuid as arrays. No Date that
 * would lose microseconds, no number that would lose digits.
 */
export const textTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    ARRAYS.has(oid)
      ? pg.types.getTypeParser(oid, format)
      : (value: string) => value) as pg.CustomTypesConfig['getTypeParser'],
};

/** Spread into `query({…})`: every value as its bytes, in Postgres' binary form. The driver's types lack `binary`. */
export const byteRows: { readonly types: pg.CustomTypesConfig; readonly binary: true } = {
  types: { getTypeParser: () => (value: Buffer) => value },
  binary: true,
};
