import { type KubeClient } from '#lib/kube';
import { visibleText } from '#lib/command-line';
import {
  type BulkExport,
  exportStatusReason,
  exportWireStatus,
  isFinishedExport,
  type ObjectKey,
  REASON,
  RESOURCES,
} from '#lib/resources';
import { CommandError } from '../command-error.js';
import { print } from '../output/print.js';
import { followObject } from '../waiting/follow-object.js';
import { amountText } from './export-bars.js';

/** Shows how far an export is; called whenever it may have changed, and once more with its end. */
export type ShowExport = (found: BulkExport) => void | Promise<void>;

/**
 * Follows an export to its end, and prints what it exported.
 * @throws CommandError `failed` with the reason, `timedOut`, or `notFound` when it was deleted meanwhile
 */
export async function waitForExport(
  client: KubeClient,
  key: ObjectKey,
  timeoutMs: number,
  show: ShowExport = linePrinter(),
): Promise<void> {
  let last: BulkExport | undefined;
  for await (const found of followObject(client, RESOURCES.BulkExport, key, { timeoutMs })) {
    if (!found) throw new CommandError('notFound', `BulkExport ${key.name} was deleted while it ran`);
    last = found;
    await show(found);
    const status = exportWireStatus(found);
    if (status === 'COMPLETED') {
      print(`${key.name} completed: ${amountText(found)}\n`);
      return;
    }
    const reported = exportStatusReason(found);
    if (isFinishedExport(status))
      throw new CommandError(
        'failed',
        `export ${key.name} ended as ${status} (${reported?.reason ?? 'Unknown'}): ${reported?.message ?? ''}; "agentplane describe bx ${key.name}" shows more`,
      );
  }
  throw new CommandError(
    'timedOut',
    `export ${key.name} is not complete after ${timeoutMs / 1000} s: ${last ? progressText(last) : ''}; it goes on, and "agentplane export watch ${key.name}" shows how far`,
  );
}

/** A line for each change, on standard error. */
export function linePrinter(): ShowExport {
  let last = '';
  return (found) => {
    if (isFinishedExport(exportWireStatus(found))) return;
    const progress = progressText(found);
    if (progress !== last) process.stderr.write(visibleText(`${found.metadata.name}: ${progress}\n`));
    last = progress;
  };
}

function progressText(found: BulkExport): string {
  const { runs, percent = 0 } = found.status ?? {};
  if (!runs?.total) return exportStatusReason(found)?.message ?? 'waiting for the controller';
  const reported = exportStatusReason(found);
  const failing = reported?.reason === REASON.retrying ? `; ${reported.reason}: ${reported.message}` : '';
  return `${percent} %, ${amountText(found)}, ${runs.completed ?? 0} of ${runs.total} runs completed${failing}`;
}
