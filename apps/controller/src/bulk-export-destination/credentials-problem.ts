import type { Secret, Workspace } from '#lib/resources';

/** Keys that a destination's Secret must have. */
const REQUIRED_KEYS = ['access_key_id', 'secret_access_key'] as const;

/** What is wrong with the Secret of a destination; undefined when nothing is. */
export function secretProblem(name: string, secret: Secret | undefined): string | undefined {
  if (!secret) return `Secret ${name} does not exist in this namespace`;
  const missing = REQUIRED_KEYS.filter((key) => !secret.data?.[key]);
  return missing.length === 0 ? undefined : `Secret ${name} has no ${missing.join(' and no ')}`;
}

/** Why a destination without a Secret cannot use the platform's own credentials; undefined when it can. */
export function environmentProblem(workspace: Workspace | undefined): string | undefined {
  if (workspace?.spec.allowEnvironmentCredentials === true) return undefined;
  const name = workspace?.metadata.name ?? 'of this namespace';
  return (
    'the destination names no Secret, and its workspace may not use the credentials of the platform; ' +
    `set spec.credentialsSecretRef, or spec.allowEnvironmentCredentials of Workspace ${name}`
  );
}
