import { jsonSearch, type SearchField } from '#lib/filter-language';
import { beginning, IS_READABLE, payloadSql } from './payload-sql.js';
import type { SqlValues } from './sql-values.js';

/** The pattern of texts that contain this one. */
function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

type Payload = 'error' | 'inputs' | 'outputs' | 'metadata';

/**
 * Metadata are a part of `extra`, and the rest of it is not searched. An `extra` that Postgres cannot take
 * apart (it holds a NUL) is searched as a whole. Only the beginning of each payload is read.
 */
const METADATA = `CASE WHEN ${IS_READABLE} THEN (p.extra::json -> 'metadata')::text ELSE ${beginning('p.extra')} END`;

function inPayload(field: Payload, text: string, out: SqlValues): string {
  if (field === 'error') return `${beginning('p.error')} ILIKE ${out.bind('text', containing(text))}`;
  const wanted = jsonSearch(text);
  const has = (json: string): string =>
    wanted.kind === 'text'
      ? `${json} ILIKE ${out.bind('text', containing(wanted.text))}`
      : `lower(${json}) ~ ${out.bind('text', wanted.pattern)}`;
  if (field === 'metadata') return `(${has(beginning('p.extra'))} AND ${has(METADATA)})`;
  return has(beginning(`p.${field}`));
}

/** SQL that is true when a text occurs in one of the fields of the run in row `r`, ignoring case. */
export function searchSql(fields: readonly SearchField[], text: string, r: string, out: SqlValues): string {
  // bound only when it is used: Postgres infers no type for an unused parameter
  const plain = () => out.bind('text', containing(text));
  const found: string[] = [];
  const payloads: string[] = [];
  for (const field of fields)
    if (field === 'name') found.push(`${r}.name ILIKE ${plain()}`);
    else if (field === 'tags')
      found.push(`EXISTS (SELECT FROM unnest(${r}.tags) AS g WHERE g ILIKE ${plain()})`);
    else payloads.push(inPayload(field, text, out));
  if (payloads.length > 0) found.push(payloadSql(r, `(${payloads.join(' OR ')})`));
  return `(${found.join(' OR ')})`;
}
