import { createHash } from 'node:crypto';
import type { PodTemplate } from '#lib/resources';

export const TEMPLATE_HASH_LABEL = 'pod-template-hash';

/** Letters and digits without vowels, so that no hash spells a word. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Ten characters that name a template; `collisions` separates two templates with the same hash. */
export function templateHash(template: PodTemplate, collisions = 0): string {
  const digest = createHash('sha256')
    .update(`${canonical(withoutHash(template))}#${collisions}`)
    .digest();
  return [...digest.subarray(0, 10)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
}

/**
 * True when two templates are the same but for the hash label that a replica set adds. A deployment's is
 * compared with those of thousands of sets, and may have a megabyte: each is read once, as long as it is the
 * same object.
 */
export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return digestOf(a) === digestOf(b);
}

const digests = new WeakMap<PodTemplate, string>();

function digestOf(template: PodTemplate): string {
  const known = digests.get(template);
  if (known !== undefined) return known;
  const digest = createHash('sha256')
    .update(canonical(withoutHash(template)))
    .digest('base64');
  digests.set(template, digest);
  return digest;
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [TEMPLATE_HASH_LABEL]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** JSON with sorted keys, without absent values and the `creationTimestamp: null` that Go's types put into templates. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'creationTimestamp' && inner === null) return undefined;
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
