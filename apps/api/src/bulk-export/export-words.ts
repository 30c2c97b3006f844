import type { RenderedExport } from '#lib/export-plan';
import { type BulkExport, isFinishedExport } from '#lib/resources';
import { vendorWord, wordFor } from '../wire/vocabulary.js';
import type { ExportAnswer } from './export-answer.js';

/**
 * The answer about an export, in the words that it was requested with.
 * @param isVendors true for one to a destination of type `s3`
 */
export function inExportWords(
  bulkExport: BulkExport,
  rendered: RenderedExport,
  isVendors: boolean,
): ExportAnswer {
  const { compression, status, interval_hours: hours } = rendered;
  const isLive = hours !== null && !isFinishedExport(status);
  const said = isLive ? 'IntervalScheduled' : vendorWord('status', status);
  const sent = wordFor(bulkExport, 'compression', compression, '');
  return {
    ...rendered,
    start_time: withoutNoFraction(rendered.start_time),
    end_time: withoutNoFraction(rendered.end_time),
    status: isVendors ? said : status,
    compression: sent === '' ? (isVendors ? vendorWord('compression', compression) : compression) : sent,
  };
}

/** Clients compare times as texts; few send a fraction. */
function withoutNoFraction(time: string | null): string | null {
  return time?.replace(/\.0+Z$/, 'Z') ?? null;
}
