import { randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError, unless } from '#lib/errors';
import { isAlreadyExists } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  DEFAULT_LISTENER,
  deploymentWireStatus,
  dnsLabel,
  idOf,
  LABEL,
  type Listener,
  MANAGED_BY,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Projects } from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { SecretHome } from '../kubernetes/secret-home.js';
import type { AgentRoutes } from '../route/agent-routes.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import type { IfMatch } from '../wire/if-match.js';
import { type Page, pageOf } from '../wire/query-flag.js';
import { invalid, wrongValue } from '../wire/request-pipe.js';
import { ourWord, rememberWords, type SentWords, wordFor } from '../wire/vocabulary.js';
import { SLEEPING_TYPES } from '../wire/words.js';
import type { DeletionAnswer, DeploymentAnswer } from './deployment-answer.js';
import type {
  DeploymentsQuery,
  CreateDeploymentRequest,
  PatchDeploymentRequest,
  SourceConfigRequest,
  SourceRevisionConfigRequest,
} from './deployment-request.js';
import {
  buildSpec,
  immutableProblems,
  leaveOutSecrets,
  makesRevision,
  neverRunningProblems,
  patchSpec,
  secretProblems,
  withoutShownUrl,
} from './deployment-spec.js';
import type { Integrations } from './integrations-controller.js';
import { namedObjectProblems } from './named-object-problems.js';
import { renderDeployment, shownUrl, wireName } from './render-deployment.js';
import type { RepeatedRequest } from './repeated-request.js';
import { requireMatch } from './require-match.js';
import type { UploadedArchives } from './source-archives.js';
import { asking, newRevision, secretNameOf } from './superseded-revisions.js';

interface Asked {
  readonly source_config?: Pick<SourceConfigRequest, 'resource_spec'> | null | undefined;
  readonly source_revision_config?: Pick<SourceRevisionConfigRequest, 'image_uri'> | null | undefined;
}

/** Images that a node of processes has or may be given; all others would have to be pulled. */
const OF_THIS_MACHINE = /^(local|agentplane)\//;

/** Volumes that the storage of a cluster provides. */
const OF_CLUSTERS = ['persistentVolumeClaim', 'nfs', 'csi'] as const;

/**
 * Problems of a request that asks for something that no node of processes can give: without these answers, a
 * revision would be made that fails. Volumes that depend on the machine's limits are judged by its node.
 */
function oneMachineProblems(source: string, asked: Asked): readonly FieldProblem[] {
  const image = asked.source_revision_config?.image_uri ?? undefined;
  const isPulled = source === 'external_image' && image !== undefined && !OF_THIS_MACHINE.test(image);
  return [
    ...(isPulled ? [imageProblem(image)] : []),
    ...(asked.source_config?.resource_spec?.volumes ?? []).flatMap((volume, index) =>
      OF_CLUSTERS.filter((type) => (volume[type] ?? undefined) !== undefined).map((type) =>
        wrongValue(
          ['body', 'source_config', 'resource_spec', 'volumes', index, type],
          `${type} is not supported on one machine, whose agents are processes; use emptyDir, configMap, secret or projected, or deploy on a cluster`,
        ),
      ),
    ),
  ];
}

function imageProblem(image: string): FieldProblem {
  return wrongValue(
    ['body', 'source_revision_config', 'image_uri'],
    `image ${image} cannot be pulled: agents of one machine are processes; add its folder with "agentplane image add NAME FOLDER" and use source internal_image, or name a listener of another cluster in source_config.listener_id`,
  );
}

/** The kinds that deployments are about. */
export interface DeploymentHomes {
  readonly deployments: ResourceHome<AgentDeployment>;
  readonly revisions: ResourceHome<AgentRevision>;
  readonly listeners: ResourceHome<Listener>;
  readonly secrets: SecretHome;
  readonly routes: Pick<AgentRoutes, 'assignedUrlOf' | 'requireFree'>;
}

/** Rules that requests are judged by, beside the resources. */
export interface DeploymentRules {
  /** True when agents run as processes; those of listeners in other clusters do not. */
  readonly runsProcesses: boolean;
  readonly integrations: Pick<Integrations, 'require'>;
  readonly archives: Pick<UploadedArchives, 'problems'>;
}

type Values = Readonly<Record<string, string>>;
type Kept = ReadonlyMap<string, string>;

/** Deployments of a workspace: writes the desired state, reads the actual one. */
export class Deployments {
  constructor(
    private readonly homes: DeploymentHomes,
    private readonly workspaces: Workspaces,
    private readonly projects: Pick<Projects, 'delete' | 'find'>,
    private readonly clock: Clock,
    private readonly rules: DeploymentRules,
  ) {}

  /**
   * @param sent words of the request's values
   * @param repeated recognises an earlier request of the same caller
   */
  async create(
    caller: Caller,
    asked: CreateDeploymentRequest,
    sent: SentWords = {},
    repeated?: RepeatedRequest,
  ): Promise<DeploymentAnswer> {
    const home = this.workspaces.homeOf(caller.tenantId);
    const { namespace } = home;
    const isVendors = asked.source === 'internal_source' || sent['source'] !== asked.source;
    const { request, leftOut } = isVendors
      ? leaveOutSecrets(asked, home)
      : { request: asked, leftOut: undefined };
    const former = repeated?.findIn(this.homes.deployments.list(namespace));
    if (former) return this.#again(caller, former, request);
    refuse(secretProblems(request, home));
    this.homes.routes.requireFree(request.source_config.custom_url);
    const listener = this.#listener(namespace, request.source_config.listener_id);
    refuse(this.#placeProblems(request.source, request, listener));
    refuse(await this.#namedProblems({ name: dnsLabel(request.name), namespace }, request, listener));
    const { source_tarball_path: archive } = request.source_revision_config;
    refuse(await this.rules.archives.problems(caller, undefined, archive));
    await this.rules.integrations.require(caller, request.source_config);
    const listenerName = listener?.metadata.name;
    const isTaken = this.homes.deployments.list(namespace).some((other) => wireName(other) === request.name);
    if (isTaken) throw new PublicError('conflict', `A deployment named ${request.name} already exists`);

    const name = dnsLabel(request.name);
    const revision = newRevision(this.clock);
    const values = secretValues(request.secrets);
    const secretName = values && secretNameOf(name, revision.id);
    const draft = {
      metadata: {
        name,
        namespace,
        annotations: {
          [ANNOTATION.id]: randomUUID(),
          ...rememberWords(sent),
          ...notesOf(request, leftOut),
          ...repeated?.annotations,
        },
        labels: { [LABEL.managedBy]: MANAGED_BY },
      },
      spec: buildSpec(request, {
        revision,
        secretName,
        listenerName,
        sentType: sent['deployment_type'],
      }) as AgentDeployment['spec'],
    };
    let created: AgentDeployment;
    try {
      // judged before anything is written
      await this.homes.deployments.dryRun(draft);
      refuse(neverRunningProblems(request, listener ?? namespace));
      created = await this.homes.deployments.create(draft);
    } catch (error) {
      if (!repeated || !isAlreadyExists(error)) throw error;
      // the same request, at the same moment
      const present = await this.homes.deployments.getNewest({ namespace, name });
      if (!repeated.findIn([present])) throw error;
      return this.#again(caller, present, request);
    }
    if (values && secretName !== undefined) await this.#giveSecret(created, secretName, values);
    return this.#rendered(caller, created, Object.keys(values ?? {}).sort());
  }

  /** Completes a repeated request: the first one may have been interrupted before its Secret was written. */
  async #again(
    caller: Caller,
    made: AgentDeployment,
    request: CreateDeploymentRequest,
  ): Promise<DeploymentAnswer> {
    const { namespace = '', name } = made.metadata;
    const values = secretValues(request.secrets);
    const { revisionRequest, secretsRef } = made.spec;
    // one that waits for its image or archive has asked for no revision yet
    const secret = revisionRequest ? secretNameOf(name, revisionRequest.id) : secretsRef?.name;
    const isFirst = secret !== undefined && secret === secretsRef?.name;
    if (values && isFirst)
      await this.homes.secrets
        .create({ namespace, name: secret }, 'user-secrets', values, made)
        .catch(unless(isAlreadyExists));
    if (values && isFirst) return this.#rendered(caller, made, Object.keys(values).sort());
    return this.render(caller, made);
  }

  async get(caller: Caller, id: string): Promise<DeploymentAnswer> {
    return this.render(caller, this.find(caller, id));
  }

  async list(caller: Caller, query: DeploymentsQuery): Promise<Page<DeploymentAnswer>> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const { name_contains: part, status, deployment_type: type, deployment_ids: ids } = query;
    const { image_version: version } = query;
    // deployments have neither tags nor ids of agents: none has the requested ones
    const isNone =
      (query.tag_value_ids ?? []).length > 0 || (query.agent_id ?? query.agent_environment) !== undefined;
    const found = (isNone ? [] : this.homes.deployments.list(namespace))
      .filter((one) => part === undefined || wireName(one).toLowerCase().includes(part.toLowerCase()))
      .filter((one) => status === undefined || deploymentWireStatus(one) === status)
      .filter((one) => query.name === undefined || wireName(one) === query.name)
      .filter((one) => type === undefined || hasType(one, type))
      .filter((one) => (query.remote_reconciled ?? isReconciled(one)) === isReconciled(one))
      .filter((one) => version === undefined || one.status?.imageVersion === version)
      .filter((one) => ids === undefined || ids.includes(idOf(one) ?? ''));
    const page = pageOf(found, query);
    return { ...page, resources: await Promise.all(page.resources.map((one) => this.render(caller, one))) };
  }

  /** @param conditions that must hold, and whether a revision is made in any case */
  async update(
    caller: Caller,
    id: string,
    asked: PatchDeploymentRequest,
    { ifMatch, makesOne }: { readonly ifMatch?: IfMatch | undefined; readonly makesOne?: boolean } = {},
  ): Promise<DeploymentAnswer> {
    const deployment = this.changeable(caller, id);
    const shown = shownUrl(deployment, this.homes.routes.assignedUrlOf(deployment));
    const changes = await this.#withoutShownSecrets(deployment, withoutShownUrl(asked, shown));
    const home = this.workspaces.homeOf(caller.tenantId);
    const { request, leftOut } = isOfVendors(deployment)
      ? leaveOutSecrets(changes, home)
      : { request: changes, leftOut: undefined };
    requireMatch(deployment, ifMatch);
    const { name, namespace = '' } = deployment.metadata;
    const kept = await this.#keptValues(deployment, request);
    refuse([
      ...immutableProblems({ name: wireName(deployment), spec: deployment.spec }, request),
      ...secretProblems(request, home, kept),
    ]);
    const listener = this.#listenerOf(deployment);
    refuse(this.#placeProblems(deployment.spec.source, request, listener));
    refuse(await this.#namedProblems({ name, namespace }, request, listener));
    const { source_tarball_path: archive } = request.source_revision_config ?? {};
    refuse(await this.rules.archives.problems(caller, idOf(deployment), archive));
    this.homes.routes.requireFree(request.source_config?.custom_url, { name, namespace });
    const made = newRevision(this.clock);
    const revision = (makesOne ?? makesRevision(request)) ? made : undefined;
    const values = secretValues(request.secrets, kept);
    const secretName = values && secretNameOf(name, made.id);
    // A Secret of its own for each set of values: changing one in place would make a revision before this request does.
    if (values && secretName !== undefined)
      await this.homes.secrets.create({ namespace, name: secretName }, 'user-secrets', values, deployment);
    let former: string | undefined;
    let changed: AgentDeployment;
    try {
      changed = await this.homes.deployments.change({ namespace, name }, (current) => {
        requireMatch(current, ifMatch);
        former = current.spec.secretsRef?.name;
        const spec = patchSpec(current.spec, request, { revision, secretName });
        const next =
          revision && spec.revisionRequest === revision ? asking(current, spec) : { ...current, spec };
        const annotations = { ...next.metadata.annotations, ...notesOf(request, leftOut) };
        return { ...next, metadata: { ...next.metadata, annotations } };
      });
    } catch (error) {
      if (secretName !== undefined) await this.homes.secrets.delete({ namespace, name: secretName });
      throw error;
    }
    if (former !== undefined && secretName !== undefined)
      await this.homes.secrets.deleteOurs({ namespace, name: former }, 'user-secrets');
    return this.render(caller, changed);
  }

  /**
   * A PATCH may repeat the answer of a GET, in which values are empty: the same names, all of them empty, change nothing.
   */
  async #withoutShownSecrets(
    { spec, metadata }: AgentDeployment,
    request: PatchDeploymentRequest,
  ): Promise<PatchDeploymentRequest> {
    const { secrets, ...others } = request;
    const name = spec.secretsRef?.name;
    if (!secrets || secrets.length === 0 || name === undefined || secrets.some(({ value }) => value !== ''))
      return request;
    const names = await this.homes.secrets.names({ namespace: metadata.namespace ?? '', name });
    const given = secrets.map((one) => one.name).sort();
    return given.join() === names.join() ? others : request;
  }

  /** Values that the deployment has, where a secret of the request comes without one. */
  async #keptValues(
    { metadata: { namespace = '' }, spec }: AgentDeployment,
    { secrets }: PatchDeploymentRequest,
  ): Promise<Kept | undefined> {
    const name = spec.secretsRef?.name;
    const keepsAny = secrets?.some(({ value }) => value === undefined || value === null) ?? false;
    return name !== undefined && keepsAny ? await this.homes.secrets.values({ namespace, name }) : undefined;
  }

  /** Each for itself: those that do not exist keep none of the others. */
  async deleteAll(caller: Caller, ids: readonly string[], withProject: boolean): Promise<DeletionAnswer> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const wanted = [...new Set(ids)];
    const deleted = wanted.filter((id) => this.homes.deployments.find(namespace, id) !== undefined);
    for (const id of deleted) await this.delete(caller, id, withProject);
    return { deleted, not_found: wanted.filter((id) => !deleted.includes(id)) };
  }

  async delete(caller: Caller, id: string, withProject: boolean, ifMatch?: IfMatch): Promise<void> {
    const deployment = this.find(caller, id);
    requireMatch(deployment, ifMatch);
    // the project is found by its name: if a run made it again after a deletion, its id differs from that in
    // the status
    const projectId = (await this.projects.find(caller.tenantId, { name: wireName(deployment) }))?.id;
    await this.homes.deployments.delete(deployment, ifMatch && ((present) => requireMatch(present, ifMatch)));
    if (withProject && projectId !== undefined) await this.projects.delete(caller.tenantId, projectId);
  }

  /** The resource itself. @throws PublicError not_found, the same for missing and foreign ones */
  find(caller: Caller, id: string): AgentDeployment {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const found = this.homes.deployments.find(namespace, id);
    if (!found) throw new PublicError('not_found', `Deployment with ID ${id} not found`);
    return found;
  }

  /**
   * @throws PublicError not_found, bad_request when it is being deleted: the change would never be applied
   */
  changeable(caller: Caller, id: string): AgentDeployment {
    const deployment = this.find(caller, id);
    if (deployment.metadata.deletionTimestamp !== undefined)
      throw new PublicError('bad_request', `Deployment with ID ${id} is being deleted`);
    return deployment;
  }

  #listener(namespace: string, id: string | null | undefined): Listener | undefined {
    if (id === undefined || id === null) return undefined;
    const listener = this.homes.listeners.find(namespace, id.toLowerCase());
    if (!listener) throw new PublicError('bad_request', `Listener with ID ${id} not found`);
    return listener;
  }

  #listenerOf({ spec, metadata: { namespace = '' } }: AgentDeployment): Listener | undefined {
    const name = spec.listenerRef?.name;
    return this.homes.listeners.list(namespace).find(({ metadata }) => metadata.name === name);
  }

  #placeProblems(
    source: string,
    request: PatchDeploymentRequest,
    listener: Listener | undefined,
  ): readonly FieldProblem[] {
    const runsProcesses = this.rules.runsProcesses && listener?.spec.remote === undefined;
    return runsProcesses ? oneMachineProblems(source, request) : [];
  }

  async #namedProblems(
    of: { readonly name: string; readonly namespace: string },
    { source_config: config, secret_references: references }: PatchDeploymentRequest,
    named: Listener | undefined,
  ): Promise<readonly FieldProblem[]> {
    const spec = config?.resource_spec ?? {};
    if (!config?.resource_spec && !references) return [];
    const listener = named ?? this.homes.listeners.findByName(of.namespace, DEFAULT_LISTENER);
    return namedObjectProblems(spec, references ?? [], {
      ...of,
      isRemote: listener?.spec.remote !== undefined,
      homes: this.homes,
      hasSecret: (name) => this.homes.secrets.has({ namespace: of.namespace, name }),
    });
  }

  /** The answer about it, as it is. */
  async render(caller: Caller, deployment: AgentDeployment): Promise<DeploymentAnswer> {
    const { namespace = '' } = deployment.metadata;
    const secret = deployment.spec.secretsRef?.name;
    const names = secret === undefined ? [] : await this.homes.secrets.names({ namespace, name: secret });
    return this.#rendered(caller, deployment, names);
  }

  #rendered(caller: Caller, deployment: AgentDeployment, secrets: readonly string[]): DeploymentAnswer {
    const assigned = this.homes.routes.assignedUrlOf(deployment);
    return renderDeployment(deployment, caller.tenantId, secrets, assigned);
  }

  /**
   * The Secret that a new deployment names, owned by it from the start: whatever ends this program in between, no values stay
   * behind without a resource. Until then the deployment waits with `SecretMissing`.
   */
  async #giveSecret(deployment: AgentDeployment, name: string, values: Values): Promise<void> {
    const { namespace = '' } = deployment.metadata;
    try {
      await this.homes.secrets.create({ namespace, name }, 'user-secrets', values, deployment);
    } catch (error) {
      await this.homes.deployments.delete(deployment);
      throw error;
    }
  }
}

function refuse(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalid(problems);
}

/** Members that are kept and have no effect. */
function notesOf(
  {
    display_name: displayName,
    tracked_packages: packages,
  }: Pick<PatchDeploymentRequest, 'display_name' | 'tracked_packages'>,
  leftOut: readonly string[] | undefined,
): Values {
  return {
    ...(displayName ? { [ANNOTATION.displayName]: displayName } : {}),
    ...(packages ? { [ANNOTATION.trackedPackages]: JSON.stringify(packages) } : {}),
    ...(leftOut ? { [ANNOTATION.leftOutVariables]: leftOut.join(',') } : {}),
  };
}

/** @param type a word of either vocabulary */
function hasType(deployment: AgentDeployment, type: string): boolean {
  const own = deployment.spec.sourceConfig.deploymentType;
  if (own !== ourWord('deployment_type', type)) return false;
  const word = wordFor(deployment, 'deployment_type', own) ?? '';
  return !SLEEPING_TYPES.has(type) || SLEEPING_TYPES.has(word);
}

/** True for deployments that were made in LangSmith's words, or that only its clients make. */
function isOfVendors(deployment: AgentDeployment): boolean {
  const { source } = deployment.spec;
  return source === 'internal_source' || wordFor(deployment, 'source', source) !== source;
}

function isReconciled({ metadata, status }: AgentDeployment): boolean {
  return status?.observedGeneration === metadata.generation;
}

/** Values of secrets; undefined leaves them unchanged, an empty list removes all. @param kept values of those that come without one */
function secretValues(
  secrets: CreateDeploymentRequest['secrets'],
  kept: Kept = new Map(),
): Values | undefined {
  if (!secrets) return undefined;
  return Object.fromEntries(secrets.map(({ name, value }) => [name, value ?? kept.get(name) ?? '']));
}
