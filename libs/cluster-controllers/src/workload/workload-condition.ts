import type { WorkloadCondition } from '#lib/resources';

export type ConditionFields = Pick<WorkloadCondition, 'type' | 'status' | 'reason' | 'message'>;

/** RFC 3339 in whole seconds, as every built-in kind has it. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}

export function conditionOf(
  conditions: readonly WorkloadCondition[] | undefined,
  type: string,
): WorkloadCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The list with this condition: nothing changes while status and reason are the same, else it moves to the end, as in Kubernetes. */
export function withCondition(
  conditions: readonly WorkloadCondition[],
  next: ConditionFields,
  now: string,
  times: 'update' | 'probe' | 'transition-only',
): readonly WorkloadCondition[] {
  const before = conditionOf(conditions, next.type);
  if (before?.status === next.status && before.reason === next.reason && before.message === next.message)
    return conditions;
  const lastTransitionTime = before?.status === next.status ? (before.lastTransitionTime ?? now) : now;
  const extra =
    times === 'update' ? { lastUpdateTime: now } : times === 'probe' ? { lastProbeTime: now } : {};
  return [...conditions.filter(({ type }) => type !== next.type), { ...next, ...extra, lastTransitionTime }];
}

export function withoutCondition(
  conditions: readonly WorkloadCondition[],
  type: string,
): readonly WorkloadCondition[] {
  return conditions.filter((condition) => condition.type !== type);
}
