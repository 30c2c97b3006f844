import { isBuiltSource } from '#lib/manifests';
import { type AgentRevision, CONDITION, isConditionTrue, isDeleting } from '#lib/resources';
import { isBuildOver } from './decide-git-build.js';

/** Rules for leaving builds out of the count. */
export interface TurnRules {
  /** A build that began before cannot run any more, whatever its status reports. */
  readonly beganAfter: Date;
  /** True when a build recently could not begin, so that those behind it go first. */
  readonly isStuck: (revision: AgentRevision) => boolean;
}

export interface Turn {
  /** True when a newer revision of the deployment exists. */
  readonly isSuperseded: boolean;
  /** Builds of all namespaces that have begun, and those that begin before this one. */
  readonly ahead: number;
}

/**
 * The place of a revision among all builds. Namespaces are served round robin: the first build of each comes
 * before the second of any, running ones included, and within a round the oldest comes first. So one
 * namespace has all places only while no other waits. A revision that will never run, or is being deleted,
 * takes no place.
 */
export function findTurn(own: AgentRevision, all: readonly AgentRevision[], rules: TurnRules): Turn {
  const newest = newestNumbers(all);
  const isSuperseded = (one: AgentRevision): boolean =>
    one.spec.number < (newest.get(deploymentOf(one)) ?? 0);
  const isOwn = (one: AgentRevision): boolean => one.metadata.uid === own.metadata.uid;
  const others = all.filter((one) => !isOwn(one) && isBuilding(one) && !isSuperseded(one));
  const begun = others.filter(
    ({ status }) => Date.parse(status?.build?.startedAt ?? '') > rules.beganAfter.getTime(),
  );
  const taken = new Map<string, number>();
  for (const one of begun) takeTurn(taken, one);
  const waiting = others
    .filter((one) => one.status?.build === undefined && !rules.isStuck(one))
    .concat(own)
    .toSorted((a, b) => compareTexts(ageOf(a), ageOf(b)))
    // the order is by age already, and sorting is stable
    .map((one) => ({ one, turn: takeTurn(taken, one) }))
    .toSorted((a, b) => a.turn - b.turn);
  return {
    isSuperseded: isSuperseded(own),
    ahead: begun.length + waiting.findIndex(({ one }) => isOwn(one)),
  };
}

/** True when a revision has begun its build, or waits for a place. */
export function isBuilding(revision: AgentRevision): boolean {
  const { spec, status } = revision;
  if (!isBuiltSource(spec.source) || isDeleting(revision) || isBuildOver(revision)) return false;
  return spec.archive
    ? isConditionTrue(status?.conditions, CONDITION.variablesReady)
    : status?.repoCommitSha !== undefined;
}

function newestNumbers(revisions: readonly AgentRevision[]): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  for (const one of revisions) {
    const key = deploymentOf(one);
    newest.set(key, Math.max(newest.get(key) ?? 0, one.spec.number));
  }
  return newest;
}

/** The round of the next build of a namespace, from 0. */
function takeTurn(taken: Map<string, number>, { metadata: { namespace = '' } }: AgentRevision): number {
  const turn = taken.get(namespace) ?? 0;
  taken.set(namespace, turn + 1);
  return turn;
}

/** `NAMESPACE/NAME` */
export function deploymentOf({ metadata, spec }: AgentRevision): string {
  return `${metadata.namespace ?? ''}/${spec.deploymentName}`;
}

function ageOf({ metadata }: AgentRevision): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
