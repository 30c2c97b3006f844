import { A2A_ROWS } from './rows/a2a-rows.js';
import { ASSISTANT_ROWS } from './rows/assistant-rows.js';
import { AG_UI_ROWS } from './rows/ag-ui-rows.js';
import { AUTH_ROWS } from './rows/auth-rows.js';
import { HTTP_ROWS } from './rows/http-rows.js';
import { MCP_ROWS } from './rows/mcp-rows.js';
import { PROTOCOL_ROWS } from './rows/protocol-rows.js';
import { PYTHON_ROWS } from './rows/python-rows.js';
import { REACT_ROWS } from './rows/react-rows.js';
import { READING_ROWS } from './rows/reading-rows.js';
import { REMOTE_GRAPH_ROWS } from './rows/remote-graph-rows.js';
import { RUN_ROWS } from './rows/run-rows.js';
import { CRON_ROWS, STORE_ROWS } from './rows/store-rows.js';
import { STREAM_ROWS } from './rows/stream-rows.js';
import { THREAD_ROWS } from './rows/thread-rows.js';
import { UI_ROWS } from './rows/ui-rows.js';
import { OPEN_DEFECTS } from './open-defects.js';
import type { Needs, Row, Target } from './target.js';

export const ROWS: readonly Row[] = [
  ...ASSISTANT_ROWS,
  ...THREAD_ROWS,
  ...RUN_ROWS,
  ...STREAM_ROWS,
  ...READING_ROWS,
  ...PROTOCOL_ROWS,
  ...STORE_ROWS,
  ...CRON_ROWS,
  ...HTTP_ROWS,
  ...AUTH_ROWS,
  ...A2A_ROWS,
  ...MCP_ROWS,
  ...AG_UI_ROWS,
  ...REMOTE_GRAPH_ROWS,
  ...REACT_ROWS,
  ...UI_ROWS,
  ...PYTHON_ROWS,
];

function reasonToLeaveOut({ missing, needs }: Row, offers: readonly Needs[]): string | undefined {
  if (missing !== undefined) return missing;
  return needs && !offers.includes(needs) ? `the target has no ${needs}` : undefined;
}

/**
 * Registers rows against one target, all by default. Rows share nothing and run five at a time, so a row names what it searches
 * for by marks of its own. Call it at the top of a file: rows start when the hooks of the file have run.
 *
 * @param target usable once the hooks have run
 * @param offers what the target has beyond an address
 * @param open rows that fail today, as `CLIENT: NAME`
 */
export function checkConformance(
  target: () => Target,
  offers: readonly Needs[],
  chosen: readonly Row[] = ROWS,
  open: Readonly<Record<string, string>> = OPEN_DEFECTS,
): void {
  for (const [client, rows] of Map.groupBy(chosen, (row) => row.client))
    describe(client, () => {
      for (const row of rows) {
        const reason = reasonToLeaveOut(row, offers);
        const check = (): Promise<void> => row.check(target());
        if (reason === undefined && `${client}: ${row.name}` in open) it.concurrent.failing(row.name, check);
        else if (reason === undefined) it.concurrent(row.name, check);
        else it.skip(`${row.name} (left out: ${reason})`, () => undefined);
      }
    });
}
