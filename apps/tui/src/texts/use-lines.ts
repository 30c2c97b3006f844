import { workspaceLines } from '#lib/object-text';
import type { Workspace } from '#lib/resources';
import { readWorkspace, type RestRequests } from '#lib/rest-client';

/** Limits and usage of a workspace. REST answers them only for the workspace of its key. */
export async function useLines(
  { metadata, spec }: Workspace,
  { rest }: { readonly rest: RestRequests | undefined },
): Promise<readonly string[]> {
  if (rest === undefined)
    return ['— limits and use come from REST: start the dashboard with --data or --context'];
  const found = await readWorkspace(rest);
  return found.id === spec.tenantId.toLowerCase()
    ? workspaceLines(found)
    : [
        `— the key of this dashboard belongs to workspace ${found.name}: limits and use of ${metadata.name} need a key of its own`,
      ];
}
