import { PAYLOAD_FIELDS } from './stored-run.js';

/** Payloads of sealed runs by their place, for a transaction; columns are those of `run_payloads`. */
export const SEALED_TABLE = 'pg_temp.sealed_payloads';

/** The row of `SEALED_TABLE` of the run in row `r`, as SQL. */
export function ofSealed(r: string): string {
  return `FROM ${SEALED_TABLE} p WHERE p.segment = ${r}.segment AND p.ordinal = ${r}.ordinal`;
}

/**
 * Made in a transaction that becomes read-only afterwards, and kept by the session: its catalogue rows are written once.
 * Rows go with the transaction. Values are not compressed: they live for a statement or two.
 */
export const MAKE_SEALED_TABLE = `SET LOCAL client_min_messages = warning;
CREATE TEMPORARY TABLE IF NOT EXISTS sealed_payloads (
  segment uuid NOT NULL, ordinal integer NOT NULL, ${PAYLOAD_FIELDS.map((field) => `${field} text STORAGE EXTERNAL`).join(', ')},
  PRIMARY KEY (segment, ordinal)
) ON COMMIT DELETE ROWS`;
