import {
  AGENT_VOLUMES,
  findBaselineViolation,
  type RefusedObject,
  refusedObjectText,
  runNamespaces,
} from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  CONDITION,
  DEFAULT_LISTENER,
  isDangerousEnvironment,
  isDeleting,
  isReservedEnvironment,
  type Listener,
  REASON,
  type Workspace,
} from '#lib/resources';
import { isOlder } from '../identity/decide-id.js';
import { wireName } from './decide-revision.js';
import type { DeploymentWorld, Variables } from './observe.js';
import { judgedSpecs } from './refused-object.js';

/** Reason why pods of the deployment are not made as they are asked for: what they name, mount, or may do. */
function refusePod(
  world: DeploymentWorld,
): { readonly reason: string; readonly message: string } | undefined {
  const { refusedObject } = world;
  if (refusedObject) return { reason: reasonOf(refusedObject), message: refusedObjectText(refusedObject) };
  const volume = refusedVolume(world);
  if (volume !== undefined) return { reason: REASON.volumeRefused, message: volume };
  const violation = refusedSecurity(world);
  return violation === undefined ? undefined : { reason: REASON.podSecurityRefused, message: violation };
}

function refusedVolume(world: DeploymentWorld): string | undefined {
  const refused = AGENT_VOLUMES.filter((kind) => !world.agentVolumes.includes(kind));
  for (const { volumes = [] } of judgedSpecs(world))
    for (const volume of volumes) {
      const kind = refused.find((one) => volume[one] !== undefined);
      if (kind !== undefined)
        return `volume ${volume.name} of kind ${kind} is not for agents of this installation; use another kind, or have AGENTPLANE_AGENT_VOLUMES (agents.volumes of the chart) changed`;
    }
  return undefined;
}

/** An API server would refuse each pod, and a revision would fail minutes later. */
function refusedSecurity(world: DeploymentWorld): string | undefined {
  const { podSecurity, listener, deployment } = world;
  if (podSecurity === undefined || podSecurity === 'privileged' || listener?.spec.remote) return undefined;
  const [violation] = judgedSpecs(world).flatMap((spec) => findBaselineViolation(spec) ?? []);
  return (
    violation &&
    `${violation.field} ${violation.value} refused: namespace ${deployment.metadata.namespace ?? ''} enforces the Pod Security Standard ${podSecurity}; remove it`
  );
}

function reasonOf({ kind }: RefusedObject): string {
  return kind === 'PersistentVolumeClaim' ? REASON.volumeRefused : REASON.secretRefused;
}

/** Reason why no revision can be made, and the condition that reports it. */
export interface Refusal {
  readonly type: typeof CONDITION.tracingProjectReady | typeof CONDITION.revisionReady;
  readonly reason: string;
  readonly message: string;
}

/** A refusal, or the facts needed to continue. */
type Admission<T> = { readonly refusal: Refusal } | ({ readonly refusal?: undefined } & T);

/** Decides if a deployment gets a project and a database. */
export function admitDeployment({
  deployment,
  workspace,
  siblings,
}: DeploymentWorld): Admission<{ readonly workspace: Workspace }> {
  const { namespace = '' } = deployment.metadata;
  if (!workspace)
    return refuse(
      CONDITION.tracingProjectReady,
      REASON.workspaceMissing,
      `namespace ${namespace} belongs to no Workspace; create the deployment in the namespace of one`,
    );
  const name = wireName(deployment);
  const holder = siblings.find(
    (other) => !isDeleting(other) && wireName(other) === name && isOlder(other.metadata, deployment.metadata),
  );
  if (!holder) return { workspace };
  return refuse(
    CONDITION.tracingProjectReady,
    REASON.nameTaken,
    `the name ${name} is used by the older AgentDeployment ${holder.metadata.name}; choose another`,
  );
}

/** The requested listener, for a message. */
function wantedListener({ listenerRef, sourceConfig }: AgentDeployment['spec']): string {
  if (listenerRef) return listenerRef.name;
  return sourceConfig.listenerId === undefined ? DEFAULT_LISTENER : `with id ${sourceConfig.listenerId}`;
}

/** Decides if a deployment gets revisions. */
export function admitRevision(
  world: DeploymentWorld,
): Admission<{ readonly listener: Listener; readonly environment: Variables }> {
  const { deployment, workspace, revisions, listener, environment } = world;
  const { spec, metadata } = deployment;
  const type = CONDITION.revisionReady;
  if (!listener)
    return refuse(
      type,
      REASON.listenerMissing,
      `Listener ${wantedListener(spec)} does not exist in this namespace; create it or name another${untendedText(revisions)}`,
    );
  const wanted = spec.sourceConfig.listenerConfig?.clusterNamespace;
  if (wanted !== undefined && !runNamespaces(listener).includes(wanted))
    return refuse(
      type,
      REASON.notSupported,
      listener.spec.remote === undefined
        ? `clusterNamespace ${wanted} refused: deployments run in their own namespace ${metadata.namespace ?? ''}`
        : `clusterNamespace ${wanted} refused: Listener ${listener.metadata.name} works in ${runNamespaces(listener).join(', ')}`,
    );
  if (!environment)
    return refuse(
      type,
      REASON.secretMissing,
      `Secret ${spec.secretsRef?.name ?? ''} does not exist in this namespace; create it`,
    );
  const pod = refusePod(world);
  if (pod) return refuse(type, pod.reason, pod.message);
  const references = (spec.secretReferences ?? []).map(({ name }) => name);
  const names = [...new Set([...Object.keys(environment), ...references])].sort();
  const setter = spec.secretsRef ? `Secret ${spec.secretsRef.name}` : 'secretReferences';
  const reserved = names.filter(isReservedEnvironment);
  if (reserved.length > 0)
    return refuse(
      type,
      REASON.reservedEnvironment,
      `${setter} sets variables of the platform; remove ${reserved.join(', ')}`,
    );
  const dangerous = names.filter(isDangerousEnvironment);
  if (dangerous.length > 0 && workspace?.spec.allowDangerousEnvironment !== true)
    return refuse(
      type,
      REASON.dangerousEnvironment,
      `${setter} sets ${dangerous.join(', ')}, which can run code or give trust away; remove it, or set spec.allowDangerousEnvironment of the Workspace`,
    );
  return { listener, environment };
}

/** Refuses a deployment whose newest revision has no listener to run it. */
export function refuseLostListener({ lostListener, revisions }: DeploymentWorld): Refusal | undefined {
  const latest = revisions.at(-1);
  if (lostListener === undefined || !latest) return undefined;
  const { name } = latest.metadata;
  return {
    type: CONDITION.revisionReady,
    reason: REASON.listenerMissing,
    message: `Listener ${lostListener} of revision ${name} does not exist in this namespace; create it, or request a new revision for another${untendedText(revisions)}`,
  };
}

/** Message about pods that have lost their listener. */
function untendedText(revisions: readonly AgentRevision[]): string {
  const serving = revisions.findLast(({ status }) => status?.serving === true);
  return serving === undefined
    ? ''
    : `; the pods of ${serving.metadata.name} run on, and what happens to them is not reported or mended`;
}

function refuse(type: Refusal['type'], reason: string, message: string): { readonly refusal: Refusal } {
  return { refusal: { type, reason, message } };
}
