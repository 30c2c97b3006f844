import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { idOf, type Listener } from '#lib/resources';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { pageOf, type Page, type PageQuery } from '../wire/page.js';
import type { ListenerAnswer } from './listener-answer.js';

function renderListener(listener: Listener): ListenerAnswer {
  const { metadata, spec, status } = listener;
  return {
    id: idOf(listener) ?? '',
    created_at: metadata.creationTimestamp ?? '',
    updated_at: status?.lastHeartbeatTime ?? metadata.creationTimestamp ?? '',
    version: status?.version ?? null,
    compute_type: spec.computeType,
    compute_id: spec.computeId,
    compute_config: { cluster_namespaces: spec.namespaces ?? [metadata.namespace ?? ''] },
  };
}

/** Listeners of a workspace. */
export class Listeners {
  constructor(
    private readonly home: ResourceHome<Listener>,
    private readonly workspaces: Workspaces,
  ) {}

  list(caller: Caller, query: PageQuery): Page<ListenerAnswer> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    return pageOf(this.home.list(namespace).map(renderListener), query);
  }

  /** @throws PublicError not_found */
  get(caller: Caller, id: string): ListenerAnswer {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const listener = this.home.find(namespace, id);
    if (!listener) throw new PublicError('not_found', `Listener with ID ${id} not found`);
    return renderListener(listener);
  }
}
