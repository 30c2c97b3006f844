import type { Scope } from '../scope.js';
import { smallText } from '../small-text.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** The values of a thread as JSON text, as its graph wrote them; undefined without any. */
export async function findValues(scope: Scope, sql: Sql, threadId: string): Promise<string | undefined> {
  const found = await findSmallValues(scope, sql, threadId, true);
  return found === 'large' ? undefined : found;
}

/** The same, unless they are large and must not be. */
export async function findSmallValues(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<string | 'large' | undefined> {
  const { rows } = await sql.inScope<{ values: string | null; is_null: boolean }>(scope, {
    name: 'find-values',
    text: `SELECT ${smallText('values::text', '$3')} AS values, values IS NULL AS is_null
      FROM agentplane.threads WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  const [row] = rows;
  return !row || row.is_null ? undefined : (row.values ?? 'large');
}
