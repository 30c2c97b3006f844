import type { Pool } from '#lib/postgres';
import type { TenantTurns } from './tenant-turns.js';
import type { TraceStore, TraceStoreOptions } from './trace-store.js';
import { DatasetTable } from './dataset/dataset-table.js';
import { DatasetVersionTable } from './dataset/dataset-version-table.js';
import { ExampleTable } from './dataset/example-table.js';
import { VersionWriter } from './dataset/write-version.js';

type DatasetParts = Pick<TraceStore, 'datasets' | 'datasetVersions' | 'examples'>;

/** Datasets, their versions and examples, all by turns of their tenants. */
export function datasetsInTurns(
  pool: Pool,
  turns: TenantTurns,
  { maxDatasets, maxDatasetBytes }: Pick<TraceStoreOptions, 'maxDatasets' | 'maxDatasetBytes'>,
): DatasetParts {
  const writer = new VersionWriter(pool, maxDatasetBytes);
  return {
    datasets: inTurns(new DatasetTable(pool, maxDatasets), turns, [
      'create',
      'find',
      'list',
      'update',
      'delete',
    ]),
    datasetVersions: inTurns(new DatasetVersionTable(pool, writer), turns, [
      ...(['list', 'get', 'tag', 'diff', 'splits', 'moveSplit'] as const),
    ]),
    examples: inTurns(new ExampleTable(pool, writer), turns, [
      'add',
      'change',
      'delete',
      'search',
      'payloads',
    ]),
  };
}

/** Methods whose first argument is the tenant. */
type OfTenants<Name extends string> = Readonly<
  Record<Name, (tenantId: string, ...given: never[]) => Promise<unknown>>
>;

/** Methods of a part, by turns of their tenants. */
export function inTurns<Name extends string, T extends OfTenants<Name>>(
  parts: T,
  turns: TenantTurns,
  names: readonly Name[],
): Pick<T, Name> {
  const methods = names.map((name) => {
    const perform = (tenantId: string, ...given: never[]) =>
      turns.run(tenantId, () => parts[name](tenantId, ...given));
    return [name, perform] as const;
  });
  return Object.fromEntries(methods) as Pick<T, Name>;
}
