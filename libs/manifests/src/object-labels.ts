import { LABEL, MANAGED_BY, PLATFORM_PREFIX, type ResourceSpec } from '#lib/resources';
import type { PlatformSettings } from './platform-settings.js';

type Entries = Readonly<Record<string, string>>;
type Wanted = Pick<ResourceSpec, 'labels' | 'annotations'>;

/** Labels that a user wants on the objects of a deployment, without those of the platform. */
export function userLabels({ labels }: Wanted = {}): Entries {
  return withoutPlatform(labels);
}

/** Annotations that a user wants on the objects of a deployment, without those of the platform. */
export function userAnnotations({ annotations }: Wanted = {}): Entries {
  return withoutPlatform(annotations);
}

/** Annotations for the metadata of an object that has none of the platform. */
export function annotationsPart(
  resourceSpec: Wanted | undefined,
  own: Entries = {},
): { readonly annotations?: Entries } {
  const annotations = { ...userAnnotations(resourceSpec), ...own };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

/**
 * Form of a name, after the prefix that it may have (`example.com/`); the value of a label as well, or
 * nothing.
 */
const NAME = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * The same for what is written before the Deployment of a revision: labels that no API server takes are left to that,
 * which is refused, so that the revision fails and says why.
 */
export function userMetadata(resourceSpec: Wanted = {}): {
  readonly labels: Entries;
  readonly annotations?: Entries;
} {
  const labels = Object.entries(userLabels(resourceSpec)).filter(
    ([name, value]) => NAME.test(name) && LABEL_VALUE.test(value),
  );
  const annotations = Object.entries(userAnnotations(resourceSpec)).filter(([name]) =>
    NAME.test(name.toLowerCase()),
  );
  return {
    labels: Object.fromEntries(labels),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
}

function withoutPlatform(entries: Entries = {}): Entries {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !isPlatformName(name)));
}

/**
 * True when a label or an annotation of this name is the platform's: selectors, informers and the node read
 * them.
 */
export function isPlatformName(name: string): boolean {
  return name.startsWith(PLATFORM_PREFIX);
}

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
