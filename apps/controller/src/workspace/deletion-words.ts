import type { AgentDeployment, Namespace } from '#lib/resources';
import type { TenantRest } from '#lib/trace-store';

/** @param deployments whose listeners elsewhere have not removed them */
export function remoteRestText(namespace: string, deployments: readonly AgentDeployment[]): string {
  const names = deployments.map(({ metadata }) => metadata.name).join(', ');
  return `namespace ${namespace} is deleted once listeners elsewhere have removed what runs there of ${names}`;
}

/** @returns with what is left in the namespace, in its own words */
export function namespaceRestText({ metadata, status }: Namespace): string {
  const rest = status?.conditions?.flatMap(({ status: state, message }) =>
    state === 'True' && message ? [message] : [],
  );
  const words = rest?.length ? `: ${rest.join('; ')}` : '';
  return `deleting namespace ${metadata.name}${words}`;
}

export function tenantRestText(rest: TenantRest): string {
  const removed = 'the namespace is deleted; removing rows of the trace store:';
  switch (rest.kind) {
    case 'projects':
      return `${removed} those of ${rest.projects} tracing projects are left`;
    case 'rows':
      return `${removed} those of ${rest.table} and others are left`;
    default:
      return rest satisfies never;
  }
}
