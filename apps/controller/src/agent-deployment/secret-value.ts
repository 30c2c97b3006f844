import type { Secret } from '#lib/resources';

/** The text under a key of a Secret; undefined when the key is missing or empty. */
export function secretValue(secret: Secret | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  return value === undefined || value === '' ? undefined : Buffer.from(value, 'base64').toString('utf8');
}
