import { parseJson } from '#lib/json';
import pg from 'pg';

/** text[] and uuid[] */
const ARRAYS: ReadonlySet<number> = new Set([1009, 2951]);

/**
 * Types for `query({types})`: every value as the text that Postgres prints, arrays of text and uuid as
 * arrays. No Date that would lose microseconds, no number that would lose digits.
 */
export const textTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    ARRAYS.has(oid)
      ? pg.types.getTypeParser(oid, format)
      : (value: string) => value) as pg.CustomTypesConfig['getTypeParser'],
};

/**
 * Spread into `query({…})`: every value as the bytes of the text that Postgres prints, in UTF-8. The driver reads values as
 * texts, also those in Postgres' binary form: of these it loses bytes that are not UTF-8.
 */
export const byteRows: { readonly types: pg.CustomTypesConfig } = {
  types: { getTypeParser: () => (text: string) => Buffer.from(text) },
};

/** bytea[] */
const BYTE_ARRAY = 1001 as number;
/** Begin of a value of bytea in an array. */
const HEX = String.raw`"\\x`;
const parseByCharacters: (text: string) => unknown[] = pg.types.getTypeParser(BYTE_ARRAY);

/**
 * Values of an array of bytea, with arrays in it. The driver parses such a text character by character: 10 MB take it
 * seconds, in which its process does nothing else.
 */
function parseByteArray(text: string): unknown[] {
  let at = 0;
  const list = (): unknown[] | undefined => {
    const items: unknown[] = [];
    for (at += 1; text[at] !== '}';) {
      if (text[at] === ',') at += 1;
      else if (text[at] === '{') {
        const inner = list();
        if (!inner) return undefined;
        items.push(inner);
      } else if (text.startsWith(HEX, at)) {
        const end = text.indexOf('"', at + HEX.length);
        items.push(Buffer.from(text.slice(at + HEX.length, end), 'hex'));
        at = end + 1;
      } else if (text.startsWith('NULL', at)) {
        items.push(null);
        at += 'NULL'.length;
      } else return undefined; // printed by bytea_output = escape
    }
    at += 1;
    return items;
  };
  return (text.startsWith('{') ? list() : undefined) ?? parseByCharacters(text);
}

pg.types.setTypeParser(BYTE_ARRAY, parseByteArray);

/** json and jsonb */
const DOCUMENTS: ReadonlySet<number> = new Set([114, 3802]);

/**
 * Types of a pool: the driver's own, but documents of JSON are parsed up to a length only. Longer ones must
 * be selected as text: parsed they take twenty times their length, and nothing else happens meanwhile.
 */
export function boundedDocuments(maxChars: number): pg.CustomTypesConfig {
  const parse = (text: string): unknown => {
    if (text.length <= maxChars) return parseJson(text);
    // an error of this program: any other would count as one of the connection
    throw new RangeError(
      `a document of ${text.length} characters was selected to be parsed, and ${maxChars} is the most: select it as text`,
    );
  };
  return {
    getTypeParser: ((oid: number, format?: 'text') =>
      DOCUMENTS.has(oid) && format !== ('binary' as string)
        ? parse
        : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'],
  };
}
