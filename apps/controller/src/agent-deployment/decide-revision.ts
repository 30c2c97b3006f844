import type { Informer, KubeClient } from '#lib/kube';
import { awaitedSource } from '#lib/manifests';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  idOf,
  LABEL,
  REASON,
  RESOURCES,
} from '#lib/resources';
import { derivedUuid } from '../identity/decide-id.js';

/**
 * The revisions of a deployment as the cache has them. The owner reference alone is not enough: a listener of
 * another cluster writes the metadata of its own revisions and could name another deployment as owner. Their
 * specs are immutable, so they are compared too.
 */
export function ownRevisions(
  revisions: Pick<Informer<AgentRevision>, 'ownedBy'>,
  deployment: AgentDeployment,
): readonly AgentRevision[] {
  return revisions.ownedBy(deployment).filter((revision) => isOfDeployment(revision, deployment));
}

/** True when the spec of a revision names the deployment. */
function isOfDeployment(
  { spec }: Pick<AgentRevision, 'spec'>,
  { metadata }: Pick<AgentDeployment, 'metadata'>,
): boolean {
  return spec.deploymentName === metadata.name;
}

/** The revisions of a deployment as the server has them, those that are being deleted included. */
export async function listRevisions(
  client: KubeClient,
  deployment: AgentDeployment,
): Promise<readonly AgentRevision[]> {
  const { namespace = '', name } = deployment.metadata;
  const labelSelector = `${LABEL.deployment}=${name}`;
  const { items } = await client.list(RESOURCES.AgentRevision, { namespace, labelSelector });
  return items.filter((one) => isOwnedBy(one, deployment) && isOfDeployment(one, deployment));
}

/** The name of a deployment on the wire and of its tracing project. */
export function wireName({ metadata, spec }: Pick<AgentDeployment, 'metadata' | 'spec'>): string {
  return spec.name ?? metadata.name;
}

/** A revision to be made: from the present spec, or from the snapshot of an earlier one. */
export interface NewRevision {
  readonly number: number;
  readonly id: string;
  /** The earlier revision whose snapshot it gets. */
  readonly repeats?: AgentRevision;
}

export type RevisionDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'make'; readonly revision: NewRevision }
  | {
      readonly kind: 'reject-request';
      readonly requestId: string;
      readonly reason: string;
      readonly message: string;
    };

/**
 * Decides if a revision must be made. A request comes before the hash, and the revision it makes carries the
 * present hash, so that a redeploy of an old snapshot is not followed by a revision of the present spec.
 * @param revisions revisions by number, oldest first
 * @param hashes of the present spec, by this version and by earlier ones
 */
export function decideRevision(
  deployment: AgentDeployment,
  revisions: readonly AgentRevision[],
  hashes: readonly string[],
): RevisionDecision {
  const { revisionRequest, suspend } = deployment.spec;
  if (suspend || awaitedSource(deployment.spec) !== undefined) return { kind: 'none' };
  const latest = revisions.at(-1);
  const number = (latest?.spec.number ?? 0) + 1;
  if (revisionRequest && !isHandled(deployment, revisions)) {
    const id = revisionRequest.id.toLowerCase();
    const from = revisionRequest.fromRevisionId?.toLowerCase();
    if (from === undefined) return { kind: 'make', revision: { number, id } };
    const of = revisions.find((revision) => idOf(revision) === from);
    if (of) return { kind: 'make', revision: { number, id, repeats: firstOf(of, revisions) } };
    return {
      kind: 'reject-request',
      requestId: id,
      reason: REASON.revisionMissing,
      message: `redeploy of revision ${from} refused: it does not exist; name one within the history`,
    };
  }
  if (hashes.includes(latest?.metadata.annotations?.[ANNOTATION.revisionHash] ?? '')) return { kind: 'none' };
  return { kind: 'make', revision: { number, id: derivedUuid(idOf(deployment) ?? '', number) } };
}

/** A repeat of a repeat repeats the first of them: the history keeps one revision for it and not a chain. */
function firstOf(of: AgentRevision, revisions: readonly AgentRevision[]): AgentRevision {
  return revisions.find(({ metadata }) => metadata.name === of.spec.redeployOf) ?? of;
}

/**
 * True when the status records the request or, if the controller ended between two writes, the revision
 * itself does.
 */
export function isHandled(deployment: AgentDeployment, revisions: readonly AgentRevision[]): boolean {
  const id = deployment.spec.revisionRequest?.id.toLowerCase();
  if (id === undefined) return true;
  return (
    deployment.status?.handledRevisionRequestId?.toLowerCase() === id ||
    revisions.some((revision) => idOf(revision) === id)
  );
}
