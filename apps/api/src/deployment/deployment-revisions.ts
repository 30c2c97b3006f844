import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { awaitedSource } from '#lib/manifests';
import { type AgentDeployment, type AgentRevision, ANNOTATION, type ConfigMap, idOf } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { IfMatch } from '../wire/if-match.js';
import {
  type DeploymentAnswer,
  REVISION_STATUSES,
  type RevisionAnswer,
  type RevisionPage,
} from './deployment-answer.js';
import type { RevisionsQuery, CreateRevisionRequest } from './deployment-request.js';
import { type NewRevision, redeployedSpec } from './deployment-spec.js';
import type { DeploymentHomes, Deployments } from './deployments.js';
import {
  renderPendingRevision,
  renderRevision,
  renderSuperseded,
  shownRevisionStatus,
} from './render-deployment.js';
import { requireMatch } from './require-match.js';
import { type RevisionHistory, revisionNotFound } from './revision-history.js';
import {
  asking,
  newRevision,
  pendingRevision,
  secretNameOf,
  supersededRevisions,
} from './superseded-revisions.js';

/**
 * The parts of an archived revision that are deployed again: its resource spec, and its image by the digest
 * that it ran. Variables are not in the archive.
 * @throws PublicError bad_request when the archive does not have enough
 */
function archivedSnapshot(revision: AgentRevision, deployment: AgentDeployment): Pick<AgentRevision, 'spec'> {
  const { spec, status } = revision;
  // the listener of another cluster writes its status: the image that it names is not for this one
  const isOfElsewhere = spec.placeNamespace !== undefined;
  if (spec.source === 'git_host') {
    const ref = spec.git?.repoRef;
    const from = ref === undefined ? 'the repository' : `repo_ref ${ref}`;
    throw refused(revision, `the image of its build is not kept; request a new revision from ${from}`);
  }
  if (spec.source === 'internal_source')
    throw refused(revision, 'the image of its build is not kept; upload its source again');
  if (spec.source !== deployment.spec.source)
    throw refused(
      revision,
      `its source was ${spec.source}, and that of the deployment is ${deployment.spec.source}; request a new revision`,
    );
  if (isOfElsewhere && spec.source !== 'external_image')
    throw refused(revision, 'it ran in another cluster; request a new revision');
  // a larger one than the archive takes is left out of it
  if ((spec.resourceSpec as object | null | undefined) === null)
    throw refused(revision, 'its resource spec was too large for the archive; request a new revision');
  const image = isOfElsewhere ? undefined : (status?.pinnedImage ?? status?.image);
  return { spec: image === undefined ? spec : { ...spec, imageUri: image } };
}

function refused(revision: AgentRevision, because: string): PublicError {
  return new PublicError(
    'bad_request',
    `Revision with ID ${idOf(revision) ?? ''} is archived and cannot be deployed again: ${because}`,
  );
}

type SecretsRef = AgentDeployment['spec']['secretsRef'];

/** Revision that a new one repeats. */
interface Origin {
  readonly of: Pick<AgentRevision, 'spec'>;
  readonly request: NewRevision;
  /** Null: the deployment keeps the Secret that it names. */
  readonly secretsRef: SecretsRef | null;
}

/** Statuses of revisions whose rollout is over. */
const OVER: ReadonlySet<string> = new Set([
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
]);

function wantedStatuses({
  status,
  remote_reconciled: isOver,
}: RevisionsQuery): readonly string[] | undefined {
  if (isOver === undefined) return status;
  return (status ?? REVISION_STATUSES).filter((word) => OVER.has(word) === isOver);
}

/** Revisions of deployments: made, requested, skipped and archived ones. */
export class DeploymentRevisions {
  constructor(
    private readonly homes: Pick<DeploymentHomes, 'deployments' | 'secrets'>,
    private readonly deployments: Pick<Deployments, 'find' | 'changeable' | 'update' | 'render'>,
    private readonly history: RevisionHistory,
    private readonly clock: Clock,
  ) {}

  /** Makes a revision of the deployment's current spec, with the changes of the request. */
  async create(
    caller: Caller,
    id: string,
    request: CreateRevisionRequest,
    ifMatch?: IfMatch,
  ): Promise<RevisionAnswer> {
    const { spec } = this.deployments.changeable(caller, id);
    const { image_uri: image, source_tarball_path: archive } = request.source_revision_config ?? {};
    const awaited = awaitedSource(spec);
    if (awaited !== undefined && !image && !archive)
      throw new PublicError('bad_request', `Deployment with ID ${id} is ${awaited}`);
    const conditions = { ifMatch, makesOne: true };
    const { latest_revision_id: made } = await this.deployments.update(caller, id, request, conditions);
    return this.get(caller, id, made ?? '');
  }

  async list(caller: Caller, id: string, query: RevisionsQuery): Promise<RevisionPage> {
    const deployment = this.deployments.find(caller, id);
    // once, so that one that is made meanwhile does not come twice
    const held = this.history.held(deployment);
    const { offset, limit } = query;
    const status = wantedStatuses(query);
    const wanted = (word: string): boolean => status === undefined || status.includes(word);
    const unmade = (await this.#unmade(caller, deployment, held)).filter((one) => wanted(one.status));
    const shown = unmade.slice(offset, offset + limit);
    const found = await this.history.list(
      caller.tenantId,
      { deployment, held },
      (one) => wanted(shownRevisionStatus(one, deployment)),
      { status, offset: Math.max(0, offset - unmade.length), limit: limit - shown.length },
    );
    const resources = [
      ...shown,
      ...found.map((one) => renderRevision(one.revision, deployment, one.isArchived)),
    ];
    const removed = await this.history.countLost(caller.tenantId, deployment, held);
    return { resources, offset: offset + resources.length, removed };
  }

  async get(caller: Caller, id: string, revisionId: string): Promise<RevisionAnswer> {
    const deployment = this.deployments.find(caller, id);
    const held = this.history.held(deployment).find((one) => idOf(one) === revisionId);
    if (held) return renderRevision(held, deployment);
    // a revision that was requested just now needs no database
    const pending = pendingRevision(deployment);
    if (pending?.id === revisionId) return renderPendingRevision(deployment, pending);
    const unmade = (await this.#unmade(caller, deployment)).find((one) => one.id === revisionId);
    if (unmade) return unmade;
    const found = await this.history.find(caller.tenantId, deployment, revisionId);
    if (found) return renderRevision(found.revision, deployment, found.isArchived);
    throw await this.#notFound(caller, deployment, revisionId);
  }

  /** Revisions that the controller has made and the API server holds, newest first. */
  held(deployment: AgentDeployment): AgentRevision[] {
    return this.history.held(deployment);
  }

  /** Last output of an archived revision; undefined of any other. */
  async findOutputs(
    caller: Caller,
    deployment: AgentDeployment,
    revisionId: string,
  ): Promise<readonly ConfigMap[] | undefined> {
    return this.history.findOutputs(caller.tenantId, deployment, revisionId);
  }

  async redeploy(
    caller: Caller,
    id: string,
    revisionId: string,
    ifMatch?: IfMatch,
  ): Promise<DeploymentAnswer> {
    const deployment = this.deployments.changeable(caller, id);
    requireMatch(deployment, ifMatch);
    const { name, namespace = '' } = deployment.metadata;
    const { of, request, secretsRef } = await this.#originOf(caller, deployment, revisionId);
    let former: string | undefined;
    let changed: AgentDeployment;
    try {
      changed = await this.homes.deployments.change({ namespace, name }, (current) => {
        requireMatch(current, ifMatch);
        former = current.spec.secretsRef?.name;
        return asking(current, redeployedSpec(current.spec, of, request, secretsRef));
      });
    } catch (error) {
      if (secretsRef) await this.homes.secrets.delete({ namespace, name: secretsRef.name });
      throw error;
    }
    if (former !== undefined && secretsRef !== null && former !== secretsRef?.name)
      await this.homes.secrets.deleteOurs({ namespace, name: former }, 'user-secrets');
    return this.deployments.render(caller, changed);
  }

  /** Replaces the pods of the revision that serves; the spec, and a revision on its way, stay as they are. */
  async restart(caller: Caller, id: string, ifMatch?: IfMatch): Promise<DeploymentAnswer> {
    const { metadata } = this.deployments.changeable(caller, id);
    const { name, namespace = '' } = metadata;
    const changed = await this.homes.deployments.change({ namespace, name }, (current) => {
      requireMatch(current, ifMatch);
      const serving = current.status?.activeRevisionName;
      if (serving === undefined)
        throw new PublicError('bad_request', `No revision of deployment ${name} serves: nothing can restart`);
      const restart = { [ANNOTATION.restart]: `${serving}@${this.clock.now().toISOString()}` };
      return {
        ...current,
        metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, ...restart } },
      };
    });
    return this.deployments.render(caller, changed);
  }

  /** @throws PublicError when the revision cannot be deployed again */
  async #originOf(caller: Caller, deployment: AgentDeployment, revisionId: string): Promise<Origin> {
    const request = newRevision(this.clock);
    const held = this.history.held(deployment).find((one) => idOf(one) === revisionId);
    if (held) {
      const secretsRef = await this.#variablesOf(deployment, held, request.id);
      return { of: held, request: { ...request, fromRevisionId: revisionId }, secretsRef };
    }
    const unmade = (await this.#unmade(caller, deployment)).find((one) => one.id === revisionId);
    if (unmade)
      throw new PublicError(
        'bad_request',
        unmade.status === 'SKIPPED'
          ? `Revision with ID ${revisionId} was skipped: another revision was requested before it was created`
          : `Revision with ID ${revisionId} has not been created yet`,
      );
    const found = await this.history.find(caller.tenantId, deployment, revisionId);
    if (!found) throw await this.#notFound(caller, deployment, revisionId);
    // nothing names it for the controller, which makes the revision of the spec as it is then
    return { of: archivedSnapshot(found.revision, deployment), request, secretsRef: null };
  }

  /**
   * A Secret with the variables that the revision had; undefined when it had none. Null: the deployment names
   * a Secret that a person keeps, so that name stays.
   */
  async #variablesOf(
    deployment: AgentDeployment,
    of: AgentRevision,
    revisionId: string,
  ): Promise<SecretsRef | null> {
    const { name, namespace = '' } = deployment.metadata;
    const current = deployment.spec.secretsRef?.name;
    const isOurs =
      current === undefined ||
      (await this.homes.secrets.isOurs({ namespace, name: current }, 'user-secrets'));
    if (!isOurs) return null;
    const copy = { namespace, name: secretNameOf(name, revisionId) };
    const from = { namespace, name: of.spec.envSecretName, ownedBy: of };
    return (await this.homes.secrets.copy(from, copy, deployment)) ? { name: copy.name } : undefined;
  }

  async #notFound(caller: Caller, deployment: AgentDeployment, revisionId: string): Promise<PublicError> {
    return revisionNotFound(revisionId, await this.history.countLost(caller.tenantId, deployment));
  }

  /**
   * The revision that was requested last, and those that were superseded before they were made, newest first.
   */
  async #unmade(
    caller: Caller,
    deployment: AgentDeployment,
    held = this.history.held(deployment),
  ): Promise<readonly RevisionAnswer[]> {
    const pending = pendingRevision(deployment);
    const superseded = supersededRevisions(deployment);
    const ids = superseded.map(({ id }) => id.toLowerCase());
    const made = await this.history.madeOf(caller.tenantId, { deployment, held }, ids);
    return [
      ...(pending && !made.has(pending.id) ? [renderPendingRevision(deployment, pending)] : []),
      ...superseded.filter(({ id }) => !made.has(id)).map((one) => renderSuperseded(deployment, one)),
    ];
  }
}
