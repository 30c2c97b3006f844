import { threadJson, type ThreadText } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import { smallText } from '../small-text.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

const SHOWN = threadJson(['thread_id', 'status', 'values', 'interrupts']);

/** State of a thread after a run: its values, and its questions. */
export async function findThreadEnd(
  scope: Scope,
  sql: Sql,
  threadId: string,
  mayBeLarge: boolean,
): Promise<ThreadText | 'large' | undefined> {
  const { rows } = await sql.inScope<{ shown: ThreadText | null }>(scope, {
    name: 'find-thread-end',
    text: `SELECT ${smallText(SHOWN, '$3')} AS shown FROM agentplane.threads
      WHERE thread_id = $2 AND ${visible('metadata')}`,
    values: [threadId, mayBeLarge],
  });
  return rows[0] && (rows[0].shown ?? 'large');
}
