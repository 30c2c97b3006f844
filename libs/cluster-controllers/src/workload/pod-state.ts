import type { Pod, PodCondition } from '#lib/resources';

export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

/** Neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

/**
 * Time at which a ready pod counts as available, in milliseconds since the epoch; undefined while it is not
 * ready.
 */
export function availableAtMs(pod: Pod, minReadySeconds: number): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return Number.isNaN(since) ? undefined : since + minReadySeconds * 1000;
}

export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
}
