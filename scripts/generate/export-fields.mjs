// crds/: the list of `spec.exportFields` in both kinds of exports, from the columns of libs/trace-store.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const KINDS = ['bulkexports', 'bulkexportruns'];
/** The property with all that is before its list, and the items of the list. */
const LIST = /(\n +exportFields:\n(?: {18,}(?!- ).*\n)*? {20}enum:\n)(?: {22}- .*\n)+/;

/** The two files as they should be, by their paths. */
export async function exportFieldLists(root) {
  const { EXPORT_COLUMNS } = await import('#lib/trace-store');
  const items = EXPORT_COLUMNS.map(({ name }) => `${' '.repeat(22)}- ${name}\n`).join('');
  return KINDS.map((kind) => {
    const path = `crds/agentplane.dev_${kind}.yaml`;
    const text = readFileSync(join(root, path), 'utf8');
    if (!LIST.test(text)) throw new Error(`${path}: spec.exportFields has no list of names`);
    return [path, text.replace(LIST, (_all, head) => head + items)];
  });
}
