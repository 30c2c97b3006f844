import type { FieldConflict } from './field-conflict.js';
import { compareText, type Managed } from './managed-fields.js';
import { printPath } from './path-element.js';
import type { Conflicts } from './field-owners.js';

/**
 * Limits of a text that people read, in fields and letters: a name of a megabyte may be in the path of
 * thousands of fields.
 */
const MOST_SHOWN = 1_000;
const MOST_LETTERS = 256 * 1024;

/** The conflicts as an answer lists them: the first thousand, and fewer of long paths. */
export interface DescribedConflicts {
  readonly shown: readonly FieldConflict[];
  /** Number of further ones. */
  readonly left: number;
}

export function describeConflicts(conflicts: Conflicts, managed: Managed): DescribedConflicts {
  const shown: FieldConflict[] = [];
  let [count, letters] = [0, 0];
  for (const [id, set] of [...conflicts.entries()].toSorted(([a], [b]) => compareText(a, b))) {
    const entry = managed.get(id);
    if (entry === undefined) continue;
    count += set.size;
    const { manager, operation, apiVersion, subresource, time } = entry;
    for (const path of set.paths()) {
      letters += path.reduce((sum, element) => sum + element.length, 0);
      if (shown.length > 0 && (shown.length >= MOST_SHOWN || letters > MOST_LETTERS)) break;
      shown.push({
        manager,
        operation,
        apiVersion,
        ...(subresource === '' ? {} : { subresource }),
        ...(time === undefined ? {} : { time }),
        field: printPath(path),
        message: `conflict with ${named({ manager, operation, apiVersion, subresource })}`,
      });
    }
  }
  return { shown, left: count - shown.length };
}

function named(entry: Pick<FieldConflict, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  const through =
    (entry.subresource ?? '') === '' ? '' : ` with subresource ${JSON.stringify(entry.subresource)}`;
  const using = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
  return `${JSON.stringify(entry.manager)}${through}${using}`;
}

/** `Apply failed with …`, as kubectl shows it. */
export function conflictsText({ shown, left }: DescribedConflicts): string {
  const [first] = shown;
  if (shown.length === 1 && left === 0 && first !== undefined) {
    return `Apply failed with 1 conflict: ${first.message}: ${first.field}`;
  }
  const groups = Map.groupBy(shown, (conflict) => conflict.message);
  const lines = [...groups].flatMap(([message, members]) => [
    `${message.replace('conflict', 'conflicts')}:`,
    ...members.map((conflict) => `- ${conflict.field}`),
  ]);
  if (left > 0) lines.push(`${left} more conflicts are not shown`);
  return `Apply failed with ${shown.length + left} conflicts: ${lines.join('\n')}`;
}
