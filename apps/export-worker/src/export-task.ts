import { REASON } from '#lib/resources';
import { TerminalError } from '#lib/errors';
import { type Filter, FilterError, parseFilter } from '#lib/filter-language';
import {
  addressOfRun,
  exportManifestKey,
  manifestKey,
  partitionByDay,
  partKey,
  windowManifestKey,
} from '#lib/export-plan';
import { destinationSettings, type ObjectStoreSettings } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { type Instant, parseInstant } from '#lib/time';
import { type ExportResource, type ExportWindow } from '#lib/trace-store';
import type { WorkerConfig } from './config.js';

/** Facts about all runs that the last run of an export writes. */
export interface WholeExport {
  readonly exportUid: string;
  /** Keys of the manifests of all runs. */
  readonly manifests: readonly string[];
  /** The export's own, and that of the window of its schedule. */
  readonly keys: readonly string[];
}

/** Task of one attempt, without its credentials. */
export interface ExportTask {
  readonly runUid: string;
  readonly attempt: number;
  readonly spec: BulkExportRunSpec;
  readonly window: ExportWindow;
  /** Exported resources, in this order. */
  readonly resources: readonly ExportResource[];
  readonly bucket: string;
  /** Key of the file of part `part`, from 0. */
  readonly keyOf: (resource: ExportResource, part: number) => string;
  readonly manifestKey: string;
  /** Undefined for runs of earlier versions, which do not know it. */
  readonly whole: WholeExport | undefined;
  readonly fileBytes: number;
  readonly fileRows: number;
}

/** @throws TerminalError when the spec is not one */
export function parseTask(config: WorkerConfig): ExportTask {
  const { spec, runUid, attempt, fileBytes, fileRows } = config;
  const address = addressOfRun(spec);
  return {
    runUid,
    attempt,
    spec,
    window: {
      tenantId: spec.tenantId,
      projectId: spec.projectId,
      startTime: timeOf(spec.startTime),
      endTime: timeOf(spec.endTime),
      filter: filterOf(spec.filter),
    },
    bucket: spec.destination.config.bucketName,
    resources: spec.resources?.includes('feedback') ? ['runs', 'feedback'] : ['runs'],
    keyOf: (resource, part) => partKey({ ...address, resource }, part + 1),
    manifestKey: manifestKey(address),
    whole: wholeOf(config),
    fileBytes,
    fileRows,
  };
}

function wholeOf({ spec, exportUid }: WorkerConfig): WholeExport | undefined {
  if (exportUid === undefined || !spec.exportWindow) return undefined;
  const { scheduleId, startTime, endTime } = spec.exportWindow;
  const window = { start: timeOf(startTime), end: timeOf(endTime) };
  const address = addressOfRun(spec);
  const ofSchedule =
    scheduleId === undefined ? [] : [windowManifestKey(address.prefix, scheduleId, window.start)];
  return {
    exportUid,
    manifests: partitionByDay(window).map(({ day }) => manifestKey({ ...address, day })),
    keys: [exportManifestKey(address.prefix, address.exportId), ...ofSchedule],
  };
}

/** The controller has read it before; a worker of another version may not know all of it. */
function filterOf(text: string | undefined): Filter | undefined {
  try {
    return text === undefined ? undefined : parseFilter(text);
  } catch (error) {
    if (error instanceof FilterError) throw new TerminalError(REASON.invalidFilter, error.message);
    throw error;
  }
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

/** Settings for reaching the destination. */
export function destinationOf(config: WorkerConfig): ObjectStoreSettings {
  const { allowPrivateEndpoints, spec } = config;
  const settings = destinationSettings(spec.destination.config, config, spec.tenantId);
  return { ...settings, allowPrivateEndpoints };
}
