import type { FieldConflict } from './field-conflict.js';
import { compareText, type Managed } from './managed-fields.js';
import { printPath } from './path-element.js';
import type { Conflicts } from './field-owners.js';

/** The conflicts as an answer lists them. */
export function describeConflicts(conflicts: Conflicts, managed: Managed): readonly FieldConflict[] {
  return [...conflicts.entries()]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([id, set]) => {
      const entry = managed.get(id);
      if (entry === undefined) return [];
      const { manager, operation, apiVersion, subresource, time } = entry;
      return set.paths().map((path) => ({
        manager,
        operation,
        apiVersion,
        ...(subresource === '' ? {} : { subresource }),
        ...(time === undefined ? {} : { time }),
        field: printPath(path),
        message: `conflict with ${named({ manager, operation, apiVersion, subresource })}`,
      }));
    });
}

function named(entry: Pick<FieldConflict, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  const through =
    (entry.subresource ?? '') === '' ? '' : ` with subresource ${JSON.stringify(entry.subresource)}`;
  const using = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
  return `${JSON.stringify(entry.manager)}${through}${using}`;
}

/** `Apply failed with …`, as kubectl shows it. */
export function conflictsText(conflicts: readonly FieldConflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: ${first.message}: ${first.field}`;
  }
  const groups = Map.groupBy(conflicts, (conflict) => conflict.message);
  const lines = [...groups].flatMap(([message, members]) => [
    `${message.replace('conflict', 'conflicts')}:`,
    ...members.map((conflict) => `- ${conflict.field}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}
