import type { Scope } from '../scope.js';
import { smallText } from '../small-text.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/**
 * Questions of a thread, as JSON text: lists of questions by the tasks that ask. Undefined without a thread.
 */
export async function findInterrupts(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<string | 'large' | undefined> {
  const { rows } = await sql.inScope<{ interrupts: string | null }>(scope, {
    name: 'find-interrupts',
    text: `SELECT ${smallText('interrupts::text', '$3')} AS interrupts FROM agentplane.threads
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  return rows[0] && (rows[0].interrupts ?? 'large');
}
