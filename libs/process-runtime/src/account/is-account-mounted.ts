import type { Pod } from '#lib/resources';

/** True when the pod asked for its service account, which a cluster would mount as a token. */
export function isAccountMounted(pod: Pod): boolean {
  return pod.spec.automountServiceAccountToken !== false;
}
