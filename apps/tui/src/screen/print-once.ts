import { visibleText } from '#lib/command-line';
import type { Snapshot } from '../feed/snapshot.js';
import { DEPLOYMENT_COLUMNS, deploymentRows } from '../rows/deployment-rows.js';
import { EXPORT_COLUMNS, exportRows } from '../rows/export-rows.js';
import { headingsOf } from '../rows/tree-column.js';
import { ALL_OPEN, type Row } from '../rows/row.js';

/** A table whose columns are as wide as their longest cell, as other tools print it. */
function lines(title: string, columns: readonly string[], rows: readonly Row[]): string[] {
  if (rows.length === 0) return [`${title}: none`];
  const table = [
    [title, 'STATE', ...columns],
    ...rows.map((row) =>
      [`${row.depth === 0 ? '' : '  '}${row.name}`, row.state.word, ...row.cells].map(visibleText),
    ),
  ];
  const widths = table[0]?.map((_, at) => Math.max(...table.map((cells) => (cells[at] ?? '').length))) ?? [];
  return table.map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The dashboard as plain text with everything open, for output that is no terminal. */
export function printOnce(snapshot: Snapshot, now: Date, qualified = false): string {
  const options = { ...ALL_OPEN, qualified };
  return [
    ...(snapshot.trouble === undefined ? [] : [visibleText(snapshot.trouble), '']),
    ...lines('DEPLOYMENTS', headingsOf(DEPLOYMENT_COLUMNS), deploymentRows(snapshot, now, options)),
    '',
    ...lines('EXPORTS', headingsOf(EXPORT_COLUMNS), exportRows(snapshot, { ratesOf: () => [] }, options)),
    '',
  ].join('\n');
}
