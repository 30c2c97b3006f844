import type { KubeObject } from './kube-object.js';
import { ANNOTATION } from './label.js';
import type { ObjectMeta } from './object-meta.js';

/** A Secret that a destination had before. Its name is no destination's and no new run's from `since` on. */
export interface FormerCredentials {
  readonly secretName: string;
  /** ISO 8601. */
  readonly since: string;
}

/** The Secrets that a destination had, oldest first; entries that are none are left out. Neither part has a comma or an @. */
export function formerCredentials({ metadata }: Pick<KubeObject, 'metadata'>): readonly FormerCredentials[] {
  const text = metadata.annotations?.[ANNOTATION.formerCredentials] ?? '';
  return text.split(',').flatMap((entry) => {
    const [secretName, since] = entry.split('@');
    return secretName && since !== undefined && !Number.isNaN(Date.parse(since))
      ? [{ secretName, since }]
      : [];
  });
}

/** The annotation that names these; null for none, which removes it in a merge. */
export function formerCredentialsText(former: readonly FormerCredentials[]): string | null {
  return former.length === 0
    ? null
    : former.map(({ secretName, since }) => `${secretName}@${since}`).join(',');
}

/** Metadata of a destination that no longer has a Secret. */
export function withFormerCredentials(metadata: ObjectMeta, former: FormerCredentials): ObjectMeta {
  const text = formerCredentialsText([...formerCredentials({ metadata }), former]);
  return {
    ...metadata,
    annotations: { ...metadata.annotations, [ANNOTATION.formerCredentials]: text ?? '' },
  };
}
