import {
  type AgentDeployment,
  type AgentRevision,
  DEFAULT_LISTENER,
  idOf,
  isDeleting,
  type Listener,
  type Service,
  type Workspace,
} from '#lib/resources';
import { type Caches, workspaceOf } from '../caches.js';

export type DeploymentCaches = Pick<
  Caches,
  'deployments' | 'revisions' | 'services' | 'workspaces' | 'listeners'
>;

/** Everything in the cluster that an AgentDeployment depends on. */
export interface DeploymentWorld {
  readonly deployment: AgentDeployment;
  readonly workspace: Workspace | undefined;
  /** By number, oldest first. */
  readonly revisions: readonly AgentRevision[];
  readonly service: Service | undefined;
  readonly listener: Listener | undefined;
  /** The other deployments of the namespace. */
  readonly siblings: readonly AgentDeployment[];
}

/** The name of a deployment on the wire and of its tracing project. */
export function wireName({ metadata, spec }: AgentDeployment): string {
  return spec.name ?? metadata.name;
}

/** The name of the Listener that is asked for; undefined when it is asked for by an id that nobody has. */
export function listenerNameOf(
  deployment: AgentDeployment,
  listeners: readonly Listener[],
): string | undefined {
  const { listenerRef, sourceConfig } = deployment.spec;
  const id = sourceConfig.listenerId?.toLowerCase();
  if (listenerRef) return listenerRef.name;
  if (id === undefined) return DEFAULT_LISTENER;
  return listeners.find((listener) => idOf(listener) === id)?.metadata.name;
}

/** Oldest first. */
export function byNumber(revisions: readonly AgentRevision[]): readonly AgentRevision[] {
  return revisions.toSorted((a, b) => a.spec.number - b.spec.number);
}

export function observeDeployment(caches: DeploymentCaches, deployment: AgentDeployment): DeploymentWorld {
  const { namespace = '', name, uid } = deployment.metadata;
  const listeners = caches.listeners.list(namespace);
  const listenerName = listenerNameOf(deployment, listeners);
  return {
    deployment,
    workspace: workspaceOf(caches.workspaces, namespace),
    revisions: byNumber(caches.revisions.ownedBy(deployment).filter((revision) => !isDeleting(revision))),
    service: caches.services.find({ namespace, name }),
    listener: listeners.find(({ metadata }) => metadata.name === listenerName),
    siblings: caches.deployments.list(namespace).filter(({ metadata }) => metadata.uid !== uid),
  };
}
