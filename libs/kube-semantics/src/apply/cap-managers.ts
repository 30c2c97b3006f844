import { FieldSet } from './field-set.js';
import { entryId, type Managed, type ManagedEntry } from './managed-fields.js';

const MOST_UPDATERS = 10;
const BUCKET = 'ancient-changes';

/** Merges entries of updates when there are more than ten: the oldest of each version are put together. */
export function capUpdaters(managed: Managed): Managed {
  const updaters = [...managed].filter(([, entry]) => entry.operation === 'Update');
  if (updaters.length <= MOST_UPDATERS) return managed;
  const oldest = updaters.toSorted(
    ([a, x], [b, y]) => (x.time ?? '').localeCompare(y.time ?? '') || (a < b ? -1 : 1),
  );
  const out = new Map(managed);
  const firsts = new Map<string, string>();
  const bucketed = new Map<string, FieldSet[]>();
  let count = updaters.length;
  for (const [id, entry] of oldest) {
    if (count <= MOST_UPDATERS) break;
    const first = firsts.get(entry.apiVersion);
    if (first === undefined) {
      firsts.set(entry.apiVersion, id);
      continue;
    }
    const bucket = bucketOf(entry);
    const bucketId = entryId(bucket);
    const before = out.get(bucketId) ?? out.get(first);
    if (before === undefined) continue;
    if (!out.has(bucketId)) out.delete(first);
    out.delete(id);
    const sets = bucketed.get(bucketId) ?? [before.set];
    sets.push(entry.set);
    bucketed.set(bucketId, sets);
    out.set(bucketId, { ...bucket, set: before.set });
    count -= 1;
  }
  for (const [id, sets] of bucketed) {
    const bucket = out.get(id);
    // a client may send thousands of entries
    if (bucket) out.set(id, { ...bucket, set: FieldSet.unionOf(sets) });
  }
  return out;
}

function bucketOf(entry: ManagedEntry): ManagedEntry {
  return { ...entry, manager: BUCKET, operation: 'Update', subresource: '' };
}
