import type { PairsToRead } from '../run/run-pairs.js';
import type { RunChange } from '../wire/run-change.js';
import { MAX_PAIRS_BYTES, scalarPairs } from './scalar-pairs.js';

/**
 * The pairs of a run's metadata, from the change whose `extra` is stored: `extra` was walked through when it was parsed, and
 * may be as long as a body.
 */
export function metadataPairs(changes: readonly RunChange[], extra: Buffer | undefined): PairsToRead {
  const metadata = extra && changes.find(({ payloads }) => payloads.extra === extra)?.metadata;
  return {
    bytes: Math.min(metadata?.length ?? 0, MAX_PAIRS_BYTES),
    read: () => (metadata ? scalarPairs(metadata) : []),
  };
}
