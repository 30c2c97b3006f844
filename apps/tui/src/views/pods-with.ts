import type { Selection } from '#lib/kube';

/** Pods of a namespace, or of all, that carry these labels. */
export function podsWith(namespace: string | undefined, labels: Readonly<Record<string, string>>): Selection {
  const labelSelector = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === '' ? {} : { labelSelector }),
  };
}
