import { PublicError } from '#lib/errors';
import { parseJson } from '#lib/json';
import { type AgentDeployment, type AgentRevision, type ConfigMap, idOf, isUuid } from '#lib/resources';
import type { ArchivedRevision, RevisionArchive, RevisionOwner } from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';

/** Revisions are numbered without a gap as they are made, and moved to the archive past the limit of the history. */
function removedOf(held: readonly AgentRevision[]): number {
  return Math.max(0, (held[0]?.spec.number ?? 0) - held.length);
}

/** @param lost revisions whose ids are kept nowhere: this may be one of them */
export function revisionNotFound(id: string, lost: number): PublicError {
  const because =
    lost === 0
      ? ''
      : `; ${lost} earlier ${lost === 1 ? 'revision is' : 'revisions are'} not kept any more, past the limit of the archive or from before there was one`;
  return new PublicError('not_found', `Revision with ID ${id} not found${because}`);
}

/** A part of the history, newest first. */
export interface HistoryPart {
  /** Words of the wire; absent: any. */
  readonly status?: readonly string[] | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** A deployment, with its revisions in the API server at one moment, newest first. */
export interface HeldRevisions {
  readonly deployment: AgentDeployment;
  readonly held: readonly AgentRevision[];
}

/** A revision, wherever it is kept. */
export interface FoundRevision {
  readonly revision: AgentRevision;
  /** True when the API server no longer holds it. */
  readonly isArchived: boolean;
}

function ofArchive({ object }: ArchivedRevision): FoundRevision {
  return { revision: parseJson(object) as AgentRevision, isArchived: true };
}

/**
 * Revisions that the API server holds and those that were moved to the archive, as one. A revision is stored in the archive
 * before it is deleted; while it is in both, the resource counts.
 */
export class RevisionHistory {
  constructor(
    private readonly revisions: Pick<ResourceHome<AgentRevision>, 'list'>,
    private readonly archive: RevisionArchive,
  ) {}

  /** Revisions that the API server holds, newest first. */
  held({ metadata: { name, namespace = '' } }: AgentDeployment): AgentRevision[] {
    return this.revisions
      .list(namespace)
      .filter((revision) => revision.spec.deploymentName === name)
      .sort((a, b) => b.spec.number - a.spec.number);
  }

  async find(tenantId: string, deployment: AgentDeployment, id: string): Promise<FoundRevision | undefined> {
    const revision = this.held(deployment).find((one) => idOf(one) === id);
    if (revision) return { revision, isArchived: false };
    const archived = await this.archive.find(ownerOf(tenantId, deployment), id);
    return archived && ofArchive(archived);
  }

  /** Last output of an archived revision and its build, as the ConfigMaps that held it. */
  async findOutputs(
    tenantId: string,
    deployment: AgentDeployment,
    id: string,
  ): Promise<readonly ConfigMap[] | undefined> {
    const outputs = await this.archive.findOutputs(ownerOf(tenantId, deployment), id);
    return outputs === undefined ? undefined : (parseJson(outputs) as readonly ConfigMap[]);
  }

  /** @param isListed selects revisions of the API server by their status */
  async list(
    tenantId: string,
    { deployment, held }: HeldRevisions,
    isListed: (revision: AgentRevision) => boolean,
    { status, offset, limit }: HistoryPart,
  ): Promise<readonly FoundRevision[]> {
    const wanted = held.filter(isListed).map((revision) => ({ revision, isArchived: false }));
    if (removedOf(held) === 0 || limit <= 0) return wanted.slice(offset, offset + Math.max(0, limit));
    // archived revisions before this index cannot be in the part: at most all held ones come before them
    const first = Math.max(0, offset - wanted.length);
    const archived = await this.archive.list(ownerOf(tenantId, deployment), {
      status,
      except: idsOf(held),
      offset: first,
      limit: offset + limit - first,
    });
    return [...wanted, ...archived.map(ofArchive)]
      .sort((a, b) => b.revision.spec.number - a.revision.spec.number)
      .slice(offset - first, offset - first + limit);
  }

  /** Ids of those of these that were made, wherever they are kept. */
  async madeOf(
    tenantId: string,
    { deployment, held }: HeldRevisions,
    ids: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const made = new Set(idsOf(held));
    const others = ids.filter((id) => !made.has(id));
    if (removedOf(held) === 0 || others.length === 0) return made;
    return new Set([...made, ...(await this.archive.among(ownerOf(tenantId, deployment), others))]);
  }

  /** Number of revisions that were made and are neither held nor archived. */
  async countLost(
    tenantId: string,
    deployment: AgentDeployment,
    held = this.held(deployment),
  ): Promise<number> {
    const removed = removedOf(held);
    if (removed === 0) return 0;
    const archived = await this.archive.count(ownerOf(tenantId, deployment), idsOf(held));
    return Math.max(0, removed - archived);
  }
}

function ownerOf(tenantId: string, deployment: AgentDeployment): RevisionOwner {
  return { tenantId, deploymentId: idOf(deployment) ?? '' };
}

/** Ids that a person wrote may be none; the archive has none of those. */
function idsOf(held: readonly AgentRevision[]): readonly string[] {
  return held.map((one) => idOf(one)).filter((id) => isUuid(id));
}
