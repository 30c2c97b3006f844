import { LABEL, MANAGED_BY } from '#lib/resources';
import type { PlatformSettings } from './platform-settings.js';

/** Labels of everything that the platform makes. */
export function platformLabels(
  component: string,
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: component, ...more };
}

/** No more rights than a process needs; what images of users bear without being rebuilt. */
export const CONTAINER_SECURITY = Object.freeze({
  allowPrivilegeEscalation: false,
  capabilities: Object.freeze({ drop: Object.freeze(['ALL']) }),
});

export const POD_SECURITY = Object.freeze({ seccompProfile: Object.freeze({ type: 'RuntimeDefault' }) });

/**
 * Required by the restricted Pod Security Standard. The node of one machine runs pods as the user of the
 * platform.
 */
const NON_ROOT_POD_SECURITY = Object.freeze({ ...POD_SECURITY, runAsNonRoot: true });

/** Security of pods that run the platform's own images, whose user is not root. */
export function platformPodSecurity({ addresses }: Pick<PlatformSettings, 'addresses'>): PodSecurity {
  return addresses === 'cluster-dns' ? NON_ROOT_POD_SECURITY : POD_SECURITY;
}

/** Security of pods that run images of users, many of which run as root. */
export function agentPodSecurity({
  agentsNonRoot = false,
}: Pick<PlatformSettings, 'agentsNonRoot'>): PodSecurity {
  return agentsNonRoot ? NON_ROOT_POD_SECURITY : POD_SECURITY;
}

type PodSecurity = typeof POD_SECURITY & { readonly runAsNonRoot?: boolean };
