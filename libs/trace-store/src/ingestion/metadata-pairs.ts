import { metadataOf } from '../query/metadata-of.js';
import type { RunPair } from '../run/run-pairs.js';
import { scalarPairs } from './scalar-pairs.js';

/** The pairs of a run's metadata, from its `extra`. */
export function metadataPairs(extra: Buffer | undefined): readonly RunPair[] {
  const metadata = extra && metadataOf(extra);
  return metadata ? scalarPairs(metadata) : [];
}
