import { metrics, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { RunBatch, RunOperation } from '../wire/run-operation.js';
import type { IngestResult } from './ingest-result.js';

/** Length of the received data. */
export function bytesOf({ run, fields = {} }: RunOperation): number {
  return Object.values(fields).reduce((sum, value) => sum + value.length, run.length);
}

/** Stores a batch, counted, timed and as a span. */
export async function observedIngest(
  batch: RunBatch,
  store: () => Promise<IngestResult>,
): Promise<IngestResult> {
  const startedMs = systemClock.monotonicMs();
  let outcome: 'stored' | 'failed' = 'failed';
  let bytes = 0;
  for (const operations of [batch.post, batch.patch])
    for (const operation of operations) bytes += bytesOf(operation);
  metrics.ingestBytes.add(bytes);
  for (const kind of ['post', 'patch'] as const) metrics.ingestOperations.add(batch[kind].length, { kind });
  const attributes = { post: batch.post.length, patch: batch.patch.length, bytes };
  try {
    const result = await withSpan('ingest batch', attributes, store);
    outcome = 'stored';
    return result;
  } finally {
    metrics.ingestDuration.observe((systemClock.monotonicMs() - startedMs) / 1000, { outcome });
  }
}
