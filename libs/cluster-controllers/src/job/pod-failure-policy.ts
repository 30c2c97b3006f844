import type { Job, JobSpec, Pod } from '#lib/resources';

export type FailureJudgement =
  | { readonly kind: 'count' }
  | { readonly kind: 'ignore' }
  | { readonly kind: 'fail-job'; readonly message: string };

type Rule = NonNullable<JobSpec['podFailurePolicy']>['rules'][number];

/** Meaning of a failed pod for its job, by the first rule of `spec.podFailurePolicy` that fits. */
export function judgeFailure(job: Job, pod: Pod): FailureJudgement {
  for (const [at, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const match = matchRule(rule, pod);
    if (match === undefined) continue;
    switch (rule.action) {
      case 'Ignore':
        return { kind: 'ignore' };
      case 'FailJob':
        return { kind: 'fail-job', message: `${match} matching FailJob rule at index ${at}` };
      case 'Count':
      case 'FailIndex':
        return { kind: 'count' };
      default:
        return rule.action satisfies never;
    }
  }
  return { kind: 'count' };
}

/** Words about what fitted; undefined when nothing did. */
function matchRule(rule: Rule, pod: Pod): string | undefined {
  const podName = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const exit = rule.onExitCodes;
  if (exit) {
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
    for (const { name, state } of statuses) {
      const code = state?.terminated?.exitCode;
      if (code === undefined || code === 0 || (exit.containerName ?? name) !== name) continue;
      if (exit.values.includes(code) === (exit.operator === 'In'))
        return `Container ${name} for pod ${podName} failed with exit code ${code}`;
    }
  }
  for (const pattern of rule.onPodConditions ?? []) {
    const condition = pod.status?.conditions?.find(({ type }) => type === pattern.type);
    if (condition?.status === (pattern.status ?? 'True'))
      return `Pod ${podName} has condition ${pattern.type}`;
  }
  return undefined;
}
