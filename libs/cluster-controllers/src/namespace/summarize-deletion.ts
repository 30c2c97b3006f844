import type { WorkloadCondition } from '#lib/resources';
import { type ConditionFields, conditionOf, timeText } from '../workload/workload-condition.js';
import type { Remaining } from './namespace-content.js';

/** The conditions of a namespace that is being deleted, in Kubernetes' words. */
export function summarizeDeletion(
  conditions: readonly WorkloadCondition[],
  remaining: Remaining,
  now: Date,
): readonly WorkloadCondition[] {
  const drafts: readonly ConditionFields[] = [
    flag(
      'NamespaceDeletionDiscoveryFailure',
      false,
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    flag(
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    remaining.problems.length > 0
      ? flag(
          'NamespaceDeletionContentFailure',
          true,
          'ContentDeletionFailed',
          `Failed to delete all resource types, ${remaining.problems.length} remaining: ${firstOf(remaining.problems)}`,
        )
      : flag(
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ),
    remaining.resources.size > 0
      ? flag(
          'NamespaceContentRemaining',
          true,
          'SomeResourcesRemain',
          `Some resources are remaining: ${counted(remaining.resources, 'has', 'resource instances')}`,
        )
      : flag('NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'),
    remaining.finalizers.size > 0
      ? flag(
          'NamespaceFinalizersRemaining',
          true,
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${counted(remaining.finalizers, 'in', 'resource instances')}`,
        )
      : flag(
          'NamespaceFinalizersRemaining',
          false,
          'ContentHasNoFinalizers',
          'All content-preserving finalizers finished',
        ),
  ];
  return drafts.map((draft) => {
    const before = conditionOf(conditions, draft.type);
    const lastTransitionTime = before?.status === draft.status ? before.lastTransitionTime : timeText(now);
    return { ...draft, lastTransitionTime: lastTransitionTime ?? timeText(now) };
  });
}

function flag(type: string, isTrue: boolean, reason: string, message: string): ConditionFields {
  return { type, status: isTrue ? 'True' : 'False', reason, message };
}

function counted(counts: ReadonlyMap<string, number>, verb: string, what: string): string {
  return firstOf([...counts].map(([name, count]) => `${name} ${verb} ${count} ${what}`).sort());
}

/** Objects name finalizers as they like: a status with all would be too large to be stored, and be tried again. */
const MAX_NAMED = 20;

function firstOf(texts: readonly string[]): string {
  const named = texts.slice(0, MAX_NAMED).join(', ');
  return texts.length > MAX_NAMED ? `${named}, and ${texts.length - MAX_NAMED} more` : named;
}
