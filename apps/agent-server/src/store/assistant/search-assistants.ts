import { boundedPage } from '../bounded-page.js';
import {
  ASSISTANT_CONDITIONS,
  assistantConditionValues,
  type AssistantSearch,
} from '../row/assistant-conditions.js';
import {
  ASSISTANT_COLUMNS,
  wireAssistant,
  type AssistantRow,
  type WireAssistant,
} from '../row/assistant-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

export interface AssistantPage {
  readonly limit: number;
  readonly offset: number;
  /** A column by its name: it becomes part of the statement. */
  readonly sortBy: 'assistant_id' | 'graph_id' | 'name' | 'created_at' | 'updated_at';
  readonly isAscending: boolean;
}

/** The page; a part of it when its assistants are large. */
export async function searchAssistants(
  scope: Scope,
  sql: Sql,
  search: AssistantSearch,
  page: AssistantPage,
): Promise<WireAssistant[]> {
  const { rows } = await sql.inScope<AssistantRow>(scope, {
    scans: 'Searching assistants',
    text: boundedPage({
      columns: ASSISTANT_COLUMNS,
      alias: 'a',
      rows: `SELECT ${ASSISTANT_COLUMNS} FROM agentplane.assistants WHERE ${ASSISTANT_CONDITIONS}
        ORDER BY ${page.sortBy} ${page.isAscending ? 'ASC' : 'DESC'}, assistant_id LIMIT $5 OFFSET $6`,
      large: ['name', 'description', 'config', 'context', 'metadata'],
    }),
    values: [...assistantConditionValues(search), page.limit, page.offset],
  });
  return rows.map(wireAssistant);
}
