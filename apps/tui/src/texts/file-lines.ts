import type { KubeClient } from '#lib/kube';
import { type BulkExportRun, idOf, RESOURCES } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';

/** A run as REST answers it; resources keep the number of files alone. */
interface RunAnswer {
  readonly id: string;
  readonly metadata: { readonly result: { readonly exported_files: readonly string[] } };
}

/** Bucket and key of every finished file of an export's run. */
export async function fileLines(
  run: BulkExportRun,
  { client, rest }: { readonly client: Pick<KubeClient, 'find'>; readonly rest: RestRequests | undefined },
): Promise<readonly string[]> {
  if (rest === undefined)
    return ['— the names of files come from REST: start the dashboard with --data or --context'];
  const { namespace = '' } = run.metadata;
  const found = await client.find(RESOURCES.BulkExport, { namespace, name: run.spec.exportName });
  const id = found && idOf(found);
  if (id === undefined) return [`— the export ${run.spec.exportName} was deleted`];
  const runs = await rest.request<readonly RunAnswer[]>('GET', `/api/v1/bulk-exports/${id}/runs`);
  const files = runs.find((one) => one.id === idOf(run))?.metadata.result.exported_files ?? [];
  return files.length === 0 ? ['— no finished file yet'] : files;
}
