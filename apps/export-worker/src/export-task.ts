import { REASON } from '#lib/resources';
import { TerminalError } from '#lib/errors';
import { manifestKey, type PartitionAddress, partKey } from '#lib/export-plan';
import { destinationSettings, type ObjectStoreSettings } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { type Instant, parseInstant } from '#lib/time';
import { type ExportWindow } from '#lib/trace-store';
import type { WorkerConfig } from './config.js';

/** What one attempt has to do, without its credentials. */
export interface ExportTask {
  readonly runUid: string;
  readonly attempt: number;
  readonly spec: BulkExportRunSpec;
  readonly window: ExportWindow;
  readonly bucket: string;
  /** Key of the file of part `part`, from 0. */
  readonly keyOf: (part: number) => string;
  readonly manifestKey: string;
  readonly fileBytes: number;
  readonly fileRows: number;
}

/** @throws TerminalError when the spec is not one */
export function parseTask(config: WorkerConfig): ExportTask {
  const { spec, runUid, attempt, fileBytes, fileRows } = config;
  if (spec.filter !== undefined)
    throw new TerminalError(REASON.notSupported, 'filters of exports are not supported yet');
  const address: PartitionAddress = {
    prefix: spec.destination.config.prefix ?? '',
    exportId: spec.exportId,
    tenantId: spec.tenantId,
    projectId: spec.projectId,
    formatVersion: spec.formatVersion,
    day: spec.startTime.slice(0, 10),
  };
  return {
    runUid,
    attempt,
    spec,
    window: {
      tenantId: spec.tenantId,
      projectId: spec.projectId,
      startTime: timeOf(spec.startTime),
      endTime: timeOf(spec.endTime),
    },
    bucket: spec.destination.config.bucketName,
    keyOf: (part) => partKey(address, part + 1),
    manifestKey: manifestKey(address),
    fileBytes,
    fileRows,
  };
}

function timeOf(text: string): Instant {
  const micros = parseInstant(text, { zone: 'required' });
  if (micros === undefined)
    throw new TerminalError(
      REASON.invalidSpec,
      `the window of the run has no valid time: ${JSON.stringify(text)}`,
    );
  return micros;
}

/** How to reach the destination. */
export function destinationOf(config: WorkerConfig): ObjectStoreSettings {
  const { allowPrivateEndpoints } = config;
  return { ...destinationSettings(config.spec.destination.config, config), allowPrivateEndpoints };
}
