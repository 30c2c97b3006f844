/** Owner of the page. */
interface Place {
  readonly tenantId: string;
  readonly projectId: string;
}

/** Path of the page of a tracing project, as the clients make it. */
function projectPagePath({ tenantId, projectId }: Place): string {
  return `/o/${tenantId}/projects/p/${projectId}`;
}

/** Path of the page of a run within its trace, as the clients make it. */
export function runPagePath({ id, ...place }: Place & { readonly id: string }): string {
  return `${projectPagePath(place)}/r/${id}`;
}
