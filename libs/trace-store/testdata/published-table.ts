import { buffer } from 'node:stream/consumers';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { LakeStore } from '../src/lake/segment-reader.js';

/** A table of sealed days as its objects have it. */
export interface PublishedTable {
  readonly version: number;
  readonly metadata: {
    readonly 'format-version': number;
    readonly 'table-uuid': string;
    readonly properties: Readonly<Record<string, string>>;
    readonly snapshots: readonly {
      readonly 'manifest-list': string;
      readonly summary: Readonly<Record<string, string>>;
    }[];
  };
  /** Keys of its files of rows. */
  readonly files: readonly string[];
  /** Keys of all other objects that it consists of. */
  readonly objects: readonly string[];
  /** Ids of all rows, in order. */
  readonly ids: readonly string[];
}

/**
 * Reads a table as a reader does that does not know the platform: from the hint to the rows.
 * @returns undefined before the first version
 * @throws Error when an object is missing
 */
export async function readTable(
  { store, bucket, prefix }: LakeStore,
  tenantId: string,
  projectId: string,
): Promise<PublishedTable | undefined> {
  const read = async (key: string): Promise<Buffer> => buffer(await store.get(bucket, key));
  const keysIn = (bytes: Buffer, ending: string): string[] => {
    const named = new RegExp(`s3://${bucket}/([\\w/.=-]+?\\.${ending})`, 'g');
    return [...bytes.toString('latin1').matchAll(named)].map(([, key = '']) => key);
  };
  const folder = `${prefix}/${tenantId}/${projectId}/table/metadata`;
  const hint = `${folder}/version-hint.text`;
  if (!(await store.stat(bucket, hint))) return undefined;
  const version = Number((await read(hint)).toString());
  const metadataKey = `${folder}/v${version}.metadata.json`;
  const metadata = JSON.parse((await read(metadataKey)).toString()) as PublishedTable['metadata'];
  const listKey = metadata.snapshots.at(-1)?.['manifest-list'].replace(`s3://${bucket}/`, '') ?? '';
  const manifests = keysIn(await read(listKey), 'avro');
  const files: string[] = [];
  for (const key of manifests) files.push(...keysIn(await read(key), 'parquet'));
  const ids: string[] = [];
  for (const key of files) {
    const { buffer: file } = new Uint8Array(await read(key));
    const rows = await parquetReadObjects({ file, columns: ['id'], compressors });
    ids.push(...rows.map((row) => String(row['id'])));
  }
  return { version, metadata, files, objects: [hint, metadataKey, listKey, ...manifests], ids: ids.sort() };
}
