import { EXIT } from '#lib/lifecycle';
import type { KubeClient } from '#lib/kube';
import { LABEL, RESOURCES } from '#lib/resources';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { findKind } from '../objects/find-kind.js';
import { findObject } from '../objects/find-object.js';
import { LiveLines } from '../output/live-lines.js';
import { exportBars, linePrinter, type ShowExport, waitForExport } from './wait-for-export.js';
import { scheduleAdvice } from './export-id.js';

export interface ExportWatchFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly timeout: number;
}

/**
 * `agentplane export watch NAME`: to its end, with a bar for each run on a terminal, else with a line for each change.
 * @throws CommandError `notFound`; `failed` for an export that does not complete, and for a schedule; `timedOut`
 */
export async function watchExport(name: string, flags: ExportWatchFlags): Promise<number> {
  return await withKube(resolveTarget(flags), async ({ client, connection }) => {
    const namespace = flags.namespace ?? connection.namespace;
    const kind = await findKind(client, 'bulkexport');
    const { metadata } = await findObject(client, kind, name, { namespace });
    const key = { name: metadata.name, namespace };
    const { spec } = await client.get(RESOURCES.BulkExport, key);
    if (spec.intervalHours !== undefined) throw new CommandError('failed', scheduleAdvice(name));
    const show = process.stderr.isTTY ? barPrinter(client, namespace) : linePrinter();
    await waitForExport(client, key, flags.timeout, show);
    return EXIT.ok;
  });
}

/** The runs are read with each look: all are of one export, and few. */
function barPrinter(client: KubeClient, namespace: string): ShowExport {
  const lines = new LiveLines(process.stderr);
  return async (found) => {
    const labelSelector = `${LABEL.export}=${found.metadata.name}`;
    const { items } = await client.list(RESOURCES.BulkExportRun, { namespace, labelSelector });
    lines.show(exportBars(found, items, lines.most));
  };
}
