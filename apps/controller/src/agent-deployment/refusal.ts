import {
  type AgentDeployment,
  CONDITION,
  DEFAULT_LISTENER,
  isDeleting,
  isReservedEnvironment,
  REASON,
} from '#lib/resources';
import { isOlder } from '../identity/assign-id.js';
import { type DeploymentWorld, wireName } from './deployment-world.js';

/** Why no revision can be made, and which condition says so. */
export interface Refusal {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** What keeps a deployment from getting even its project and database. */
export function findRefusal({ deployment, workspace, siblings }: DeploymentWorld): Refusal | undefined {
  const { namespace = '' } = deployment.metadata;
  if (!workspace)
    return {
      type: CONDITION.tracingProjectReady,
      reason: REASON.workspaceMissing,
      message: `namespace ${namespace} belongs to no Workspace: deployments live in the namespace of one`,
    };
  const name = wireName(deployment);
  const holder = siblings.find(
    (other) => !isDeleting(other) && wireName(other) === name && isOlder(other.metadata, deployment.metadata),
  );
  if (!holder) return undefined;
  return {
    type: CONDITION.tracingProjectReady,
    reason: REASON.nameTaken,
    message: `the name ${name} belongs to AgentDeployment ${holder.metadata.name} already`,
  };
}

/** The listener that is asked for, in words. */
function wantedListener({ listenerRef, sourceConfig }: AgentDeployment['spec']): string {
  if (listenerRef) return listenerRef.name;
  return sourceConfig.listenerId === undefined ? DEFAULT_LISTENER : `with id ${sourceConfig.listenerId}`;
}

/** What keeps a deployment from getting a revision. */
export function findRevisionRefusal(
  { deployment, listener }: DeploymentWorld,
  environment: Readonly<Record<string, string>> | undefined,
): Refusal | undefined {
  const { spec, metadata } = deployment;
  const refuse = (reason: string, message: string): Refusal => ({
    type: CONDITION.revisionReady,
    reason,
    message,
  });
  if (spec.source === 'git_host')
    return refuse(REASON.sourceNotSupported, 'source git_host is not supported yet: build an image');
  const wanted = spec.sourceConfig.listenerConfig?.clusterNamespace;
  if (wanted !== undefined && wanted !== metadata.namespace)
    return refuse(
      REASON.notSupported,
      `deployments run in their own namespace ${metadata.namespace ?? ''}, not in ${wanted}`,
    );
  if (!listener)
    return refuse(
      REASON.listenerMissing,
      `there is no Listener ${wantedListener(spec)} in this namespace to carry it out`,
    );
  if (!environment)
    return refuse(
      REASON.secretMissing,
      `Secret ${spec.secretsRef?.name ?? ''} does not exist in this namespace`,
    );
  const reserved = Object.keys(environment).filter(isReservedEnvironment).sort();
  if (reserved.length > 0)
    return refuse(
      REASON.reservedEnvironment,
      `Secret ${spec.secretsRef?.name ?? ''} sets variables of the platform: remove ${reserved.join(', ')}`,
    );
  return undefined;
}
