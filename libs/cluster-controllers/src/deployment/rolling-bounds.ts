import type { Deployment } from '#lib/resources';

/** Maximum number of pods above and below the wanted one while a deployment rolls. */
export interface RollingBounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Numbers as they are; percentages of the replicas, surge rounded up, unavailable down; never both zero. */
export function rollingBounds(deployment: Deployment): RollingBounds {
  const { strategy } = deployment.spec;
  const replicas = deployment.spec.replicas ?? 1;
  if (strategy?.type === 'Recreate') return { maxSurge: 0, maxUnavailable: replicas };
  const maxSurge = share(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil);
  const maxUnavailable = share(strategy?.rollingUpdate?.maxUnavailable ?? '25%', replicas, Math.floor);
  if (maxSurge === 0 && maxUnavailable === 0) return { maxSurge: 0, maxUnavailable: 1 };
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

function share(value: number | string, replicas: number, round: (n: number) => number): number {
  if (typeof value === 'number') return value;
  const percent = Number(value.replace(/%$/, ''));
  return Number.isFinite(percent) ? round((percent * replicas) / 100) : 0;
}
