import type { RenderedExport } from '#lib/export-plan';
import type { ListedExportsQuery } from './export-request.js';

const FIELDS = ['status', 'bulk_export_destination_id', 'session_id', 'source_bulk_export_id'] as const;

/** True when an export meets every condition of a list. */
export function isListed(answer: RenderedExport, query: ListedExportsQuery): boolean {
  return FIELDS.every((field) => {
    const wanted = query[field];
    return wanted === undefined || answer[field]?.toLowerCase() === wanted.toLowerCase();
  });
}
