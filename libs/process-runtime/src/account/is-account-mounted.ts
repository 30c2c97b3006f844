import type { Pod } from '#lib/resources';

/** Whether the pod asked for its service account: what in a cluster would be a mounted token. */
export function isAccountMounted(pod: Pod): boolean {
  return pod.spec.automountServiceAccountToken !== false;
}
