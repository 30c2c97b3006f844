import type { Pod } from '#lib/resources';

/** A reference that cannot be resolved now; the pod waits with this text and tries again. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

/** Downward fields; of the status only those that exist on loopback. */
export function fieldOf(pod: Pod, path: string): string {
  const { metadata, spec } = pod;
  const member = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path);
  if (member) return ownValue(metadata[member[1] as 'labels' | 'annotations'], member[2] ?? '') ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
    case 'status.podIP':
      return '127.0.0.1';
    default:
      throw new ContainerConfigError(`fieldRef ${path} is not supported by the process runtime`);
  }
}

/**
 * Value of an own key. Names come from specs; every object has an inherited `constructor`, which must not be
 * found.
 */
export function ownValue(
  values: Readonly<Record<string, string>> | undefined,
  key: string,
): string | undefined {
  return values && Object.hasOwn(values, key) ? values[key] : undefined;
}
