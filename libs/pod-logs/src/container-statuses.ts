import type { ContainerStatus, Pod } from '#lib/resources';

/** Statuses of all containers of a pod, those that run before the others first. */
export function containerStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** Number of times that a container has ended, the end from which it has not been started again included. */
export function endsOf({ restartCount, state }: ContainerStatus): number {
  return restartCount + (state?.terminated ? 1 : 0);
}
