import { PublicError } from '#lib/errors';
import type { Informers, Reader } from '#lib/kube';
import { RESOURCES, type Workspace, workspaceNamespace } from '#lib/resources';

/** The name of the index over tenant ids. */
const TENANT_INDEX = 'tenant';

/** Facts about a tenant's workspace that the api needs. */
export interface TenantHome {
  readonly namespace: string;
  readonly plan: Workspace['spec']['plan'];
  /** True when secrets may set variables that can run code. */
  readonly allowsDangerousEnvironment: boolean;
  /** True when destinations without credentials may use those of the platform. */
  readonly allowsEnvironmentCredentials: boolean;
}

/** Finds the workspace of a tenant. */
export class Workspaces {
  constructor(private readonly reader: Reader<Workspace>) {}

  /** True when the tenant has a workspace that is not being deleted. */
  has(tenantId: string): boolean {
    return this.#of(tenantId) !== undefined;
  }

  /** The resource itself. @throws PublicError not_found when the tenant has no workspace (any more) */
  get(tenantId: string): Workspace {
    const workspace = this.#of(tenantId);
    if (!workspace) throw new PublicError('not_found', 'Not Found');
    return workspace;
  }

  /** @throws PublicError not_found as `get` does */
  homeOf(tenantId: string): TenantHome {
    const workspace = this.get(tenantId);
    return {
      namespace: workspace.status?.namespace ?? workspaceNamespace(workspace.metadata.name),
      plan: workspace.spec.plan,
      allowsDangerousEnvironment: workspace.spec.allowDangerousEnvironment === true,
      allowsEnvironmentCredentials: workspace.spec.allowEnvironmentCredentials === true,
    };
  }

  /** All that are not being deleted. */
  list(): readonly Workspace[] {
    return this.reader.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  #of(tenantId: string): Workspace | undefined {
    return this.reader
      .byIndex(TENANT_INDEX, tenantId.toLowerCase())
      .find(({ metadata }) => metadata.deletionTimestamp === undefined);
  }
}

export function openWorkspaces(informers: Informers): Workspaces {
  const informer = informers.of(RESOURCES.Workspace);
  informer.addIndex(TENANT_INDEX, (workspace) => [workspace.spec.tenantId.toLowerCase()]);
  return new Workspaces(informer);
}
