import { LABEL, MANAGED_BY } from '#lib/resources';

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
