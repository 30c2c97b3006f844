import type pg from 'pg';

/** Every value as the text that Postgres prints, except arrays: no Date that would lose microseconds. */
const ARRAYS = new Set([1009, 2951]);

/**
 * For `query({types})`: times, numbers and ids come as text, arrays as arrays of text.
 * @param defaults the driver's own parsers
 */
export function textTypes(defaults: typeof pg.types): pg.CustomTypesConfig {
  return {
    getTypeParser: ((oid: number, format?: 'text') =>
      ARRAYS.has(oid)
        ? defaults.getTypeParser(oid, format)
        : (value: string) => value) as pg.CustomTypesConfig['getTypeParser'],
  };
}

/** For `query({binary: true, types})`: every value as its bytes. */
export const byteTypes: pg.CustomTypesConfig = {
  getTypeParser: () => (value: Buffer) => value,
};
