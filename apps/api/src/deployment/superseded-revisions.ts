import { randomUUID } from 'node:crypto';
import { isJsonObject, parseJson } from '#lib/json';
import {
  type AgentDeployment,
  ANNOTATION,
  isUuid,
  type RevisionRequest,
  type SourceRevisionConfig,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { NewRevision } from './deployment-spec.js';

/** The revision that was requested and is not made yet. */
export function pendingRevision(deployment: AgentDeployment): RevisionRequest | undefined {
  const { spec, status } = deployment;
  return spec.revisionRequest && spec.revisionRequest.id !== status?.handledRevisionRequestId
    ? spec.revisionRequest
    : undefined;
}

/** A request for a revision: answers name it before the controller has made it. */
export function newRevision(clock: Pick<Clock, 'now'>): NewRevision {
  return { id: randomUUID(), at: clock.now().toISOString() };
}

/** Name of the Secret with the variables of a revision that is requested. */
export function secretNameOf(deployment: string, revisionId: string): string {
  return `${deployment}-secrets-${revisionId.slice(0, 8)}`;
}

/**
 * Revisions that were asked for and never made, because another was asked for before the controller had
 * looked. Their ids were given to callers, who may still ask for them.
 */

/**
 * Maximum number of kept revisions, since the size of annotations is limited; a caller that asks for an older
 * one has not asked for long.
 */
const MOST_KEPT = 20;

export interface SupersededRevision extends Pick<RevisionRequest, 'id' | 'at'> {
  readonly sourceRevisionConfig: SourceRevisionConfig;
}

const FIELDS: readonly string[] = [
  'repoRef',
  'graphConfigPath',
  'imageUri',
  'sourceTarballPath',
] satisfies readonly (keyof SourceRevisionConfig)[];

function isSuperseded(value: unknown): value is SupersededRevision {
  if (!isJsonObject(value)) return false;
  const { id, at, sourceRevisionConfig } = value;
  return (
    isUuid(id) &&
    (at === undefined || typeof at === 'string') &&
    isJsonObject(sourceRevisionConfig) &&
    Object.entries(sourceRevisionConfig).every(
      ([name, set]) => FIELDS.includes(name) && typeof set === 'string',
    )
  );
}

/**
 * Superseded revisions, newest first. Users may write anything into the annotation: entries that this program
 * did not write are ignored.
 */
export function supersededRevisions({ metadata }: AgentDeployment): readonly SupersededRevision[] {
  const text = metadata.annotations?.[ANNOTATION.supersededRevisions];
  if (text === undefined) return [];
  try {
    const kept: unknown = parseJson(text);
    return Array.isArray(kept) ? kept.slice(0, MOST_KEPT).filter(isSuperseded) : [];
  } catch {
    return [];
  }
}

/** The annotations once another revision is requested. */
function annotationsAfterRequest(deployment: AgentDeployment): Readonly<Record<string, string>> {
  const pending = pendingRevision(deployment);
  const annotations = deployment.metadata.annotations ?? {};
  if (!pending) return annotations;
  const { id, at } = pending;
  const superseded = {
    id,
    ...(at === undefined ? {} : { at }),
    sourceRevisionConfig: deployment.spec.sourceRevisionConfig,
  };
  const kept = [superseded, ...supersededRevisions(deployment)].slice(0, MOST_KEPT);
  return { ...annotations, [ANNOTATION.supersededRevisions]: JSON.stringify(kept) };
}

/** A deployment with another revision request in its spec. */
export function asking(current: AgentDeployment, spec: AgentDeployment['spec']): AgentDeployment {
  return {
    ...current,
    metadata: { ...current.metadata, annotations: annotationsAfterRequest(current) },
    spec,
  };
}
