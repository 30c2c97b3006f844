import type { FieldProblem } from '#lib/errors';
import { awaitedSource, placeNamespaces, wantedResourceSpec } from '#lib/manifests';
import {
  type AgentDeploymentSpec,
  type AgentRevision,
  isDangerousEnvironment,
  isReservedEnvironment,
  type Listener,
  type ResourceSpec,
  type SourceConfig,
  type SourceRevisionConfig,
} from '#lib/resources';
import type { TenantHome } from '../tenancy/workspaces.js';
import { fromWire } from '../wire/shape.js';
import { SLEEPING_TYPES } from '../wire/words.js';
import type {
  CreateDeploymentRequest,
  PatchDeploymentRequest,
  SourceConfigRequest,
  SourceRevisionConfigRequest,
} from './deployment-request.js';
import type { ResourceSpecRequest } from './resource-spec-request.js';

const DANGER =
  'can run code in the agent or give its trust away; set spec.allowDangerousEnvironment of the Workspace to allow it';
const CORES = ['cpu', 'cpuLimit', 'queueCpu', 'queueCpuLimit', 'dbCpu', 'dbCpuLimit'] as const;

/** Wire → resource; CPU is rounded to one decimal place. */
function resourceSpecOf(request: ResourceSpecRequest): ResourceSpec {
  const spec = fromWire(request) as Record<string, unknown>;
  for (const name of CORES) {
    const cores = spec[name];
    if (typeof cores === 'number') spec[name] = Math.max(0.1, Math.round(cores * 10) / 10);
  }
  return spec;
}

function sourceConfigOf(request: SourceConfigRequest): SourceConfig {
  const { resource_spec, listener_config, ...rest } = request;
  return {
    ...(fromWire(rest) as SourceConfig),
    ...(resource_spec ? { resourceSpec: resourceSpecOf(resource_spec) } : {}),
    ...(listener_config ? { listenerConfig: fromWire(listener_config) } : {}),
  };
}

/** A type whose deployments sleep is a number of pods, unless the request has one of its own. */
function withSleep(
  source: AgentDeploymentSpec['source'],
  sourceConfig: SourceConfig,
  sentType: string | undefined,
): SourceConfig {
  if (sourceConfig.resourceSpec || sentType === undefined || !SLEEPING_TYPES.has(sentType))
    return sourceConfig;
  const size = wantedResourceSpec({ source, sourceConfig });
  return { ...sourceConfig, resourceSpec: { ...size, minScale: 0 } };
}

function sourceRevisionConfigOf(request: SourceRevisionConfigRequest): SourceRevisionConfig {
  return fromWire(request);
}

/** A request for a revision in the spec. */
export interface NewRevision {
  readonly id: string;
  readonly at: string;
  readonly fromRevisionId?: string;
}

type RolloutRequest = Pick<
  CreateDeploymentRequest,
  'min_ready_seconds' | 'rollback_on_failure' | 'idle_seconds'
>;

/** Rollout and sleep of revisions, from a request. */
function rolloutOf({ min_ready_seconds, rollback_on_failure, idle_seconds }: RolloutRequest) {
  return fromWire({ min_ready_seconds, rollback_on_failure, idle_seconds }) as Pick<
    AgentDeploymentSpec,
    'minReadySeconds' | 'rollbackOnFailure' | 'idleSeconds'
  >;
}

/** References to Secrets; absent: they stay. */
function referencesOf({
  secret_references: references,
}: Pick<PatchDeploymentRequest, 'secret_references'>): Pick<AgentDeploymentSpec, 'secretReferences'> {
  if (!references) return {};
  const secretReferences = references.map(({ name, secret_name: secretName, secret_key: secretKey }) => ({
    name,
    secretName,
    secretKey,
  }));
  return { secretReferences };
}

/** The spec of a new deployment. */
export function buildSpec(
  request: CreateDeploymentRequest,
  links: {
    readonly revision: NewRevision;
    readonly secretName: string | undefined;
    readonly listenerName: string | undefined;
    /** `deployment_type` in the word that was sent. */
    readonly sentType?: string | undefined;
  },
): Partial<AgentDeploymentSpec> & Pick<AgentDeploymentSpec, 'source'> {
  const { source } = request;
  const sourceRevisionConfig = sourceRevisionConfigOf(request.source_revision_config);
  const isAwaited = awaitedSource({ source, sourceRevisionConfig }) !== undefined;
  return {
    name: request.name,
    source,
    sourceConfig: withSleep(source, sourceConfigOf(request.source_config), links.sentType),
    sourceRevisionConfig,
    ...(isAwaited ? {} : { revisionRequest: links.revision }),
    ...referencesOf(request),
    ...rolloutOf(request),
    ...(links.secretName === undefined ? {} : { secretsRef: { name: links.secretName } }),
    ...(links.listenerName === undefined ? {} : { listenerRef: { name: links.listenerName } }),
  };
}

/**
 * True when a PATCH makes a new revision: any of these fields that is not null does, also with an unchanged
 * value.
 */
export function makesRevision(request: PatchDeploymentRequest): boolean {
  const revisionConfig = request.source_revision_config;
  return (
    (request.secrets ?? request.secret_references ?? undefined) !== undefined ||
    (request.source_config?.resource_spec ?? undefined) !== undefined ||
    Object.values(revisionConfig ?? {}).some((value: unknown) => (value ?? undefined) !== undefined)
  );
}

/**
 * Removes the URL that answers show: a PATCH may repeat the answer of a GET, and the URL may be one that the platform
 * assigned. Another URL stays, and is refused for sources that take none.
 */
export function withoutShownUrl(
  request: PatchDeploymentRequest,
  shown: string | undefined,
): PatchDeploymentRequest {
  const { custom_url: repeated, ...config } = request.source_config ?? {};
  if (!request.source_config || repeated !== shown) return request;
  return { ...request, source_config: config };
}

function patchSourceConfig(current: SourceConfig, request: SourceConfigRequest): SourceConfig {
  const changed = sourceConfigOf(request);
  const listenerConfig = changed.listenerConfig && { ...current.listenerConfig, ...changed.listenerConfig };
  return { ...current, ...changed, ...(listenerConfig ? { listenerConfig } : {}) };
}

/** The spec after a PATCH. Null and absent fields stay; `resource_spec` is replaced as a whole. */
export function patchSpec(
  spec: AgentDeploymentSpec,
  request: PatchDeploymentRequest,
  links: { readonly revision: NewRevision | undefined; readonly secretName: string | undefined },
): AgentDeploymentSpec {
  const sourceRevisionConfig = {
    ...spec.sourceRevisionConfig,
    ...sourceRevisionConfigOf(request.source_revision_config ?? {}),
  };
  const isAwaited = awaitedSource({ source: spec.source, sourceRevisionConfig }) !== undefined;
  return {
    ...spec,
    sourceConfig: patchSourceConfig(spec.sourceConfig, request.source_config ?? {}),
    sourceRevisionConfig,
    ...referencesOf(request),
    ...rolloutOf(request),
    ...((request.suspend ?? undefined) === undefined ? {} : { suspend: request.suspend === true }),
    ...(links.revision && !isAwaited ? { revisionRequest: links.revision } : {}),
    ...(links.secretName === undefined ? {} : { secretsRef: { name: links.secretName } }),
  };
}

/**
 * The spec after a redeploy: image, resources and variables are those of the revision again, so that the next
 * PATCH of anything else does not restore the former ones.
 * @param secretsRef the Secret with the variables of the revision; undefined: it has none, null: as it is
 */
export function redeployedSpec(
  spec: AgentDeploymentSpec,
  of: Pick<AgentRevision, 'spec'>,
  revisionRequest: NewRevision,
  secretsRef: AgentDeploymentSpec['secretsRef'] | null,
): AgentDeploymentSpec {
  const { resourceSpec: _former, ...sourceConfig } = spec.sourceConfig;
  const { imageUri, git, archive, resourceSpec, secretReferences } = of.spec;
  const input = git ?? archive;
  const { secretsRef: kept, secretReferences: _references, ...rest } = spec;
  const secrets = secretsRef === null ? kept : secretsRef;
  return {
    ...rest,
    sourceConfig: { ...sourceConfig, ...(resourceSpec ? { resourceSpec } : {}) },
    sourceRevisionConfig: {
      ...spec.sourceRevisionConfig,
      ...(imageUri === undefined ? {} : { imageUri }),
      ...(input ? { graphConfigPath: input.graphConfigPath } : {}),
      ...(archive ? { sourceTarballPath: archive.path } : {}),
      ...(git?.repoRef === undefined ? {} : { repoRef: git.repoRef }),
    },
    revisionRequest,
    ...(secrets ? { secretsRef: secrets } : {}),
    ...(secretReferences ? { secretReferences } : {}),
  };
}

const IMMUTABLE = ['integration_id', 'repo_url', 'deployment_type', 'listener_id'] as const;

/** Every immutable field that a PATCH would change. */
export function immutableProblems(
  current: { readonly name: string; readonly spec: AgentDeploymentSpec },
  request: PatchDeploymentRequest,
): readonly FieldProblem[] {
  const { spec } = current;
  const before = fromWireKeys(spec.sourceConfig);
  const asked: [readonly string[], unknown, unknown][] = [
    [['name'], request.name, current.name],
    [['source'], request.source, spec.source],
    [['revision_source'], request.revision_source, spec.source],
    ...IMMUTABLE.map((name): [readonly string[], unknown, unknown] => [
      ['source_config', name],
      request.source_config?.[name],
      before[name],
    ]),
    [
      ['source_config', 'listener_config', 'cluster_namespace'],
      request.source_config?.listener_config?.cluster_namespace,
      spec.sourceConfig.listenerConfig?.clusterNamespace,
    ],
  ];
  return asked
    .filter(([, next, old]) => next !== undefined && next !== null && next !== old)
    .map(([path]) => ({ loc: ['body', ...path], msg: 'Field is immutable', type: 'frozen_field' }));
}

function fromWireKeys(config: SourceConfig): Readonly<Record<(typeof IMMUTABLE)[number], unknown>> {
  return {
    integration_id: config.integrationId,
    repo_url: config.repoUrl,
    deployment_type: config.deploymentType,
    listener_id: config.listenerId,
  };
}

/**
 * Problems of a deployment whose resource would allow it but that would never run: they are reported at once
 * instead of after a wait.
 * @param place the listener that is named, else the namespace of the workspace
 */
export function neverRunningProblems(
  { source_config: { listener_config } }: CreateDeploymentRequest,
  place: Listener | string,
): readonly FieldProblem[] {
  const wanted = listener_config?.cluster_namespace ?? undefined;
  if (wanted === undefined) return [];
  const remote = typeof place !== 'string' && place.spec.remote ? place : undefined;
  const own = typeof place === 'string' ? place : (place.metadata.namespace ?? '');
  const possible = remote ? placeNamespaces(remote) : [own];
  if (possible.includes(wanted)) return [];
  const msg = remote
    ? `listener ${remote.metadata.name} works in ${possible.join(', ')}`
    : `deployments run in the namespace of their workspace, ${own}; leave it out`;
  const loc = ['body', 'source_config', 'listener_config', 'cluster_namespace'];
  return [{ loc, msg, type: 'value_error' }];
}

/**
 * Takes out of a request the variables that a deployment cannot have. Clients of LangSmith send whole `.env` files, whose
 * usual lines would refuse every deployment.
 */
export function leaveOutSecrets<T extends Pick<PatchDeploymentRequest, 'secrets'>>(
  request: T,
  { allowsDangerousEnvironment }: Pick<TenantHome, 'allowsDangerousEnvironment'>,
): { readonly request: T; readonly leftOut: readonly string[] | undefined } {
  const { secrets } = request;
  if (!secrets) return { request, leftOut: undefined };
  const isLeftOut = ({ name }: { readonly name: string }): boolean =>
    isReservedEnvironment(name) || (isDangerousEnvironment(name) && !allowsDangerousEnvironment);
  return {
    request: { ...request, secrets: secrets.filter((one) => !isLeftOut(one)) },
    leftOut: secrets.filter(isLeftOut).map(({ name }) => name),
  };
}

/** Names that are reserved, come twice, or are dangerous in a workspace that does not allow them. */
export function secretProblems(
  { secrets, secret_references: references }: Pick<PatchDeploymentRequest, 'secrets' | 'secret_references'>,
  { allowsDangerousEnvironment }: Pick<TenantHome, 'allowsDangerousEnvironment'>,
  kept: ReadonlyMap<string, string> = new Map(),
): readonly FieldProblem[] {
  const seen = new Set<string>();
  const given = [
    ...(secrets ?? []).map(({ name, value }, index) => ({ name, value, list: 'secrets', index })),
    ...(references ?? []).map(({ name }, index) => ({ name, value: '', list: 'secret_references', index })),
  ];
  return given.flatMap(({ name, value, list, index }) => {
    const isTwice = seen.has(name);
    seen.add(name);
    const loc = ['body', list, index, 'name'];
    if (isReservedEnvironment(name))
      return [{ loc, msg: `${name} is reserved and cannot be set`, type: 'value_error' }];
    if (isDangerousEnvironment(name) && !allowsDangerousEnvironment)
      return [{ loc, msg: `${name} ${DANGER}`, type: 'value_error' }];
    if ((value ?? kept.get(name)) === undefined)
      return [{ loc: ['body', 'secrets', index, 'value'], msg: 'Field required', type: 'missing' }];
    return isTwice ? [{ loc, msg: `${name} is given more than once`, type: 'value_error' }] : [];
  });
}
