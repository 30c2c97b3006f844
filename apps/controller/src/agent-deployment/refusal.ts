import {
  type AgentDeployment,
  CONDITION,
  DEFAULT_LISTENER,
  isDeleting,
  isReservedEnvironment,
  REASON,
} from '#lib/resources';
import { isOlder } from '../identity/decide-id.js';
import type { DeploymentWorld } from './observe.js';
import { wireName } from './wire-name.js';

/** Why no revision can be made, and the condition that reports it. */
export interface Refusal {
  readonly type: typeof CONDITION.tracingProjectReady | typeof CONDITION.revisionReady;
  readonly reason: string;
  readonly message: string;
}

/** Why a deployment gets neither project nor database. */
export function findRefusal({ deployment, workspace, siblings }: DeploymentWorld): Refusal | undefined {
  const { namespace = '' } = deployment.metadata;
  if (!workspace)
    return {
      type: CONDITION.tracingProjectReady,
      reason: REASON.workspaceMissing,
      message: `namespace ${namespace} belongs to no Workspace; create the deployment in the namespace of one`,
    };
  const name = wireName(deployment);
  const holder = siblings.find(
    (other) => !isDeleting(other) && wireName(other) === name && isOlder(other.metadata, deployment.metadata),
  );
  if (!holder) return undefined;
  return {
    type: CONDITION.tracingProjectReady,
    reason: REASON.nameTaken,
    message: `the name ${name} is used by the older AgentDeployment ${holder.metadata.name}; choose another`,
  };
}

/** The requested listener, for a message. */
function wantedListener({ listenerRef, sourceConfig }: AgentDeployment['spec']): string {
  if (listenerRef) return listenerRef.name;
  return sourceConfig.listenerId === undefined ? DEFAULT_LISTENER : `with id ${sourceConfig.listenerId}`;
}

/** Why a deployment gets no revision. */
export function findRevisionRefusal({
  deployment,
  listener,
  environment,
}: DeploymentWorld): Refusal | undefined {
  const { spec, metadata } = deployment;
  const refuse = (reason: string, message: string): Refusal => ({
    type: CONDITION.revisionReady,
    reason,
    message,
  });
  if (spec.source === 'git_host')
    return refuse(REASON.sourceNotSupported, 'source git_host is not supported yet; build an image');
  const wanted = spec.sourceConfig.listenerConfig?.clusterNamespace;
  if (wanted !== undefined && wanted !== metadata.namespace)
    return refuse(
      REASON.notSupported,
      `clusterNamespace ${wanted} refused: deployments run in their own namespace ${metadata.namespace ?? ''}`,
    );
  if (!listener)
    return refuse(
      REASON.listenerMissing,
      `Listener ${wantedListener(spec)} does not exist in this namespace; create it or name another`,
    );
  if (!environment)
    return refuse(
      REASON.secretMissing,
      `Secret ${spec.secretsRef?.name ?? ''} does not exist in this namespace; create it`,
    );
  const reserved = Object.keys(environment).filter(isReservedEnvironment).sort();
  if (reserved.length > 0)
    return refuse(
      REASON.reservedEnvironment,
      `Secret ${spec.secretsRef?.name ?? ''} sets variables of the platform; remove ${reserved.join(', ')}`,
    );
  return undefined;
}
