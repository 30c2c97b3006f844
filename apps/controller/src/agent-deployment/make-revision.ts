import { TerminalError } from '#lib/errors';
import { isAlreadyExists, type KubeClient } from '#lib/kube';
import { type AgentDefaults, DEFAULT_GRAPH_CONFIG, revisionLabels, wantedResourceSpec } from '#lib/manifests';
import { controllerReference, isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  type AgentRevisionSpec,
  ANNOTATION,
  API_VERSION,
  databaseSecretName,
  isDeleting,
  keyOf,
  platformSecretName,
  REASON,
  type ResourceSpec,
  RESOURCES,
  revisionEnvSecretName,
  revisionName,
} from '#lib/resources';
import type { DeploymentDecision } from './decide.js';
import { type NewRevision, wireName } from './decide-revision.js';

export type MakeRevision = Extract<DeploymentDecision, { readonly kind: 'make-revision' }>;

/**
 * Creates the revision.
 * @param defaults settings of its pods that apply unless the resource spec sets them
 * @throws KubeApiError `AlreadyExists` when a lagging cache hid the revision: the next pass sees it;
 * TerminalError `NotOurs` when another owner's revision has its name: an orphan of a former deployment of the
 * name would be in the way until a person deletes it, while one that is being deleted only takes a moment
 */
export async function makeRevision(
  client: KubeClient,
  deployment: AgentDeployment,
  decision: MakeRevision,
  defaults: AgentDefaults,
): Promise<AgentRevision> {
  const revision = buildRevision(deployment, decision, defaults);
  try {
    return await client.create(RESOURCES.AgentRevision, revision);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const existing = await client.find(RESOURCES.AgentRevision, keyOf(revision));
    if (!existing || isDeleting(existing) || isOwnedBy(existing, deployment)) throw error;
    throw new TerminalError(
      REASON.notOurs,
      `AgentRevision ${revision.metadata.name} exists and belongs to another owner; delete it`,
    );
  }
}

export function buildRevision(
  deployment: AgentDeployment,
  decision: MakeRevision,
  defaults: AgentDefaults,
): AgentRevision {
  const { metadata } = deployment;
  const { number, id } = decision.revision;
  const name = revisionName(metadata.name, number);
  const spec: AgentRevisionSpec = {
    ...snapshot(deployment, decision.revision, defaults),
    deploymentName: metadata.name,
    deploymentWireName: wireName(deployment),
    tenantId: decision.tenantId,
    number,
    envSecretName: revisionEnvSecretName(name),
    databaseSecretName: databaseSecretName(metadata.name),
    platformSecretName: platformSecretName(metadata.name),
    listenerName: decision.listenerName,
    ...(decision.placeNamespace === undefined ? {} : { placeNamespace: decision.placeNamespace }),
  };
  const revision: AgentRevision = {
    apiVersion: API_VERSION,
    kind: 'AgentRevision',
    metadata: {
      name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      annotations: { [ANNOTATION.id]: id, [ANNOTATION.revisionHash]: decision.hash },
      ownerReferences: [controllerReference(RESOURCES.AgentDeployment, deployment)],
    },
    spec,
  };
  return { ...revision, metadata: { ...revision.metadata, labels: revisionLabels(revision) } };
}

type Snapshot = Pick<
  AgentRevisionSpec,
  'source' | 'imageUri' | 'git' | 'archive' | 'resourceSpec' | 'secretReferences' | 'redeployOf'
>;

function snapshot({ spec }: AgentDeployment, { repeats }: NewRevision, defaults: AgentDefaults): Snapshot {
  if (repeats) {
    const { source, imageUri, git, archive, resourceSpec, secretReferences } = repeats.spec;
    return {
      source,
      redeployOf: repeats.metadata.name,
      ...(imageUri === undefined ? {} : { imageUri }),
      ...(git ? { git } : {}),
      ...(archive ? { archive } : {}),
      ...(resourceSpec ? { resourceSpec } : {}),
      ...(secretReferences ? { secretReferences } : {}),
    };
  }
  const { secretReferences } = spec;
  const { imageUri } = spec.sourceRevisionConfig;
  const git = gitSource(spec);
  const archive = archiveSource(spec);
  const resourceSpec = withDefaults(wantedResourceSpec(spec), defaults);
  return {
    source: spec.source,
    ...(imageUri === undefined ? {} : { imageUri }),
    ...(git ? { git } : {}),
    ...(archive ? { archive } : {}),
    ...(Object.keys(resourceSpec).length > 0 ? { resourceSpec } : {}),
    ...(secretReferences ? { secretReferences } : {}),
  };
}

/** A limit of memory that is wanted, or follows from the request that is, comes before the default. */
function withDefaults(
  wanted: ResourceSpec = {},
  { memoryLimitMb, ...placement }: AgentDefaults,
): ResourceSpec {
  const hasLimit = memoryLimitMb === undefined || wanted.memoryMb !== undefined;
  return { ...placement, ...(hasLimit ? {} : { memoryLimitMb }), ...wanted };
}

/** Git source that a revision is built from; undefined for images. */
function gitSource({ source, sourceConfig, sourceRevisionConfig }: AgentDeployment['spec']): Snapshot['git'] {
  if (source !== 'git_host') return undefined;
  const { repoUrl = '', integrationId, installCommand, buildCommand, buildOnPush } = sourceConfig;
  const { repoRef, graphConfigPath = '' } = sourceRevisionConfig;
  return {
    repoUrl,
    graphConfigPath,
    ...(repoRef === undefined ? {} : { repoRef }),
    ...(buildOnPush === true ? { buildOnPush } : {}),
    ...(integrationId === undefined ? {} : { integrationId }),
    ...(installCommand === undefined ? {} : { installCommand }),
    ...(buildCommand === undefined ? {} : { buildCommand }),
  };
}

/** Archive that a revision is built from. */
function archiveSource({
  source,
  sourceConfig: { installCommand, buildCommand },
  sourceRevisionConfig: { sourceTarballPath: path, graphConfigPath = DEFAULT_GRAPH_CONFIG },
}: AgentDeployment['spec']): Snapshot['archive'] {
  if (source !== 'internal_source' || path === undefined) return undefined;
  return {
    path,
    graphConfigPath,
    ...(installCommand === undefined ? {} : { installCommand }),
    ...(buildCommand === undefined ? {} : { buildCommand }),
  };
}
