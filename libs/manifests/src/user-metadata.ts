import { PLATFORM_PREFIX, type ResourceSpec } from '#lib/resources';

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
