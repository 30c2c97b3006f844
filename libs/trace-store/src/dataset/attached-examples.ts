import { PublicError } from '#lib/errors';
import { parseJson } from '#lib/json';
import { textTypes, type Connection, type Queryable } from '#lib/postgres';
import { lockStored } from '../attachment/attachment-table.js';
import { RELEASE } from '../run/remove-runs.js';
import type { AttachmentChange, ExampleAttachment, ExampleWrite } from './dataset.js';
import type { OpenVersion } from './write-version.js';

/** Maximum number of attachments per example. */
export const MAX_ATTACHMENTS = 100;

/** Attachments of a version as its row has them. */
export type AttachmentColumn = Readonly<Record<string, { readonly object: string; readonly type: string }>>;

/** Attachments in the order of their names. */
export function parseAttachments(json: string | null): readonly ExampleAttachment[] {
  const column = parseJson(json ?? '{}') as AttachmentColumn;
  return Object.entries(column)
    .map(([name, { object, type }]) => ({ name, objectId: object, contentType: type }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * Attachments of a version after a change: the kept ones, under the names that they get, and the new ones.
 */
function changed(
  before: readonly ExampleAttachment[],
  { added, kept }: AttachmentChange,
): readonly ExampleAttachment[] {
  const names = kept && new Map(kept.map(({ name, as }) => [name, as]));
  const left = before.flatMap((one) => {
    const name = names ? names.get(one.name) : one.name;
    return name === undefined ? [] : [{ ...one, name }];
  });
  return [...new Map([...left, ...added].map((one) => [one.name, one])).values()];
}

function columnOf(attachments: readonly ExampleAttachment[]): AttachmentColumn {
  return Object.fromEntries(
    attachments.map(({ name, objectId, contentType }) => [name, { object: objectId, type: contentType }]),
  );
}

async function currentOf(
  { db, tenantId, datasetId }: OpenVersion,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly ExampleAttachment[]>> {
  const { rows } = await db.query<{ id: string; attachments: string | null }>({
    text: `SELECT id, attachments FROM example_versions
      WHERE tenant_id = $1 AND dataset_id = $2 AND id = ANY ($3::uuid[]) AND until IS NULL`,
    values: [tenantId, datasetId, ids],
    types: textTypes,
  });
  return new Map(rows.map((row) => [row.id, parseAttachments(row.attachments)]));
}

/**
 * Attachments of the examples of a request, by id; an example has no entry when the request does not mention
 * its attachments. Their objects are kept until the transaction ends.
 * @throws PublicError conflict for an object that was removed meanwhile, forbidden for an example with too
 * many, not_found for a name that is to be kept and does not exist
 */
export async function attachmentsOf(
  version: OpenVersion,
  examples: readonly ExampleWrite[],
): Promise<ReadonlyMap<string, AttachmentColumn>> {
  const some = examples.flatMap(({ id, attachments }) => (attachments ? [{ id, attachments }] : []));
  if (some.length === 0) return new Map();
  const objects = some.flatMap(({ attachments }) => attachments.added.map(({ objectId }) => objectId));
  const stored = await lockStored(version.db, version.tenantId, objects);
  if (objects.some((id) => !stored.has(id)))
    throw new PublicError('conflict', 'An attachment took too long to arrive; send the examples again');
  const before = await currentOf(
    version,
    some.map(({ id }) => id),
  );
  return new Map(
    some.flatMap(({ id, attachments }) => {
      const current = before.get(id) ?? [];
      const names = new Set(current.map(({ name }) => name));
      const missing = attachments.kept?.find(({ name }) => !names.has(name));
      if (missing)
        throw new PublicError(
          'not_found',
          `Example ${id} has no attachment ${missing.name} to retain or rename`,
        );
      const all = changed(current, attachments);
      if (all.length > MAX_ATTACHMENTS)
        throw new PublicError(
          'forbidden',
          `Example ${id} would have ${all.length} attachments, and may have ${MAX_ATTACHMENTS}`,
        );
      // none as before: null and {} would be two versions of the same
      return all.length + current.length === 0 ? [] : [[id, columnOf(all)] as const];
    }),
  );
}

/** Notes which objects the current versions of these examples refer to. */
export async function refer(
  { db, tenantId, datasetId }: OpenVersion,
  columns: ReadonlyMap<string, AttachmentColumn>,
): Promise<void> {
  const pairs = [...columns].flatMap(([id, column]) =>
    Object.values(column).map(({ object }) => ({ id, object })),
  );
  if (pairs.length === 0) return;
  await db.query(
    `INSERT INTO example_attachments (tenant_id, dataset_id, ordinal, object_id)
    SELECT DISTINCT $1::uuid, $2::uuid, e.ordinal, p.object_id
    FROM unnest($3::uuid[], $4::uuid[]) AS p(id, object_id)
    JOIN example_versions e ON e.tenant_id = $1 AND e.dataset_id = $2 AND e.id = p.id AND e.until IS NULL
    ON CONFLICT DO NOTHING`,
    [tenantId, datasetId, pairs.map(({ id }) => id), pairs.map(({ object }) => object)],
  );
}

/** Removes the references of all versions of these examples; to be called while the versions are there. */
export async function removeReferences(
  db: Connection,
  tenantId: string,
  datasetId: string,
  ids: readonly string[],
): Promise<void> {
  await db.query(
    `WITH gone AS (
      DELETE FROM example_attachments WHERE tenant_id = $1 AND dataset_id = $2 AND ordinal IN (
        SELECT ordinal FROM example_versions WHERE tenant_id = $1 AND dataset_id = $2 AND id = ANY ($3::uuid[])
      ) RETURNING object_id
    ), ${RELEASE}`,
    [tenantId, datasetId, ids],
  );
}

/** Removes some references of a dataset. @returns how many */
export async function removeSomeReferences(
  db: Queryable,
  tenantId: string,
  datasetId: string,
  most: number,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `WITH gone AS (
      DELETE FROM example_attachments WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM example_attachments WHERE tenant_id = $1 AND dataset_id = $2 LIMIT ${most}
      )) RETURNING object_id
    ), released AS (
      WITH ${RELEASE} RETURNING o.id
    ) SELECT count(*)::int AS count FROM gone`,
    [tenantId, datasetId],
  );
  return rows[0]?.count ?? 0;
}
