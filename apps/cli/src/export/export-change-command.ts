import { randomUUID } from 'node:crypto';
import { EXIT } from '#lib/lifecycle';
import { type BulkExportSpec, exportWireStatus, isFinishedExport, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findObject, qualifiedName } from '../objects/find-object.js';
import { findKind } from '../objects/find-kind.js';
import { print } from '../output/print-items.js';

export interface ExportChangeFlags extends TargetFlags {
  readonly namespace: string | undefined;
}

/** Change of an export that has not ended. Each has a word that reports it. */
export type ExportChange = 'pause' | 'resume' | 'run-now' | 'move' | 'cancel';

const DONE: Readonly<Record<ExportChange, string>> = {
  pause: 'paused',
  resume: 'resumed',
  'run-now': 'asked to run now',
  move: 'given another destination',
  cancel: 'cancelled',
};

function changeTo(change: ExportChange, destination: string): Partial<BulkExportSpec> {
  switch (change) {
    case 'pause':
      return { suspend: true };
    case 'resume':
      return { suspend: false };
    case 'run-now':
      return { runRequest: { id: randomUUID() } };
    case 'move':
      return { destinationRef: { name: destination } };
    case 'cancel':
      return { cancel: true };
    default:
      return change satisfies never;
  }
}

/**
 * `agentplane export pause|resume|run-now|cancel NAME`, and `move NAME DESTINATION`.
 * @throws CommandError `notFound`; `failed` for an export that has ended, and for run-now and move of one that is no
 *   schedule
 */
export async function changeExport(
  name: string,
  change: ExportChange,
  flags: ExportChangeFlags,
  destination?: string,
): Promise<number> {
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const kind = await findKind(client, 'bulkexport');
    const { metadata } = await findObject(client, kind, name, { namespace });
    const found = await client.get(RESOURCES.BulkExport, { name: metadata.name, namespace });
    const status = exportWireStatus(found);
    const label = qualifiedName(RESOURCES.BulkExport, found.metadata.name);
    if (isFinishedExport(status))
      throw new CommandError('failed', `${label} is ${status}: it cannot be ${DONE[change]} any more`);
    if ((change === 'run-now' || change === 'move') && found.spec.intervalHours === undefined)
      throw new CommandError('failed', `${label} is no schedule: it has no intervalHours`);
    const to =
      destination === undefined
        ? undefined
        : await findObject(client, await findKind(client, 'bulkexportdestination'), destination, {
            namespace,
          });
    const key = { name: found.metadata.name, namespace };
    await client.merge(RESOURCES.BulkExport, key, { spec: changeTo(change, to?.metadata.name ?? '') });
    print(`${label} ${DONE[change]}\n`);
    return EXIT.ok;
  });
}
