import { createHmac } from 'node:crypto';
import { stableJson } from '#lib/json';
import type { AgentDeployment } from '#lib/resources';

/**
 * Hash of everything that makes a revision, keyed with the deployment's own platform key: the hash is an annotation, and
 * short secrets could be guessed from a plain hash by a reader of revisions who may not read Secrets.
 * @param environment values of the secretsRef Secret, base64
 */
export function revisionHash(
  { spec }: Pick<AgentDeployment, 'spec'>,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): string {
  const made = [spec.source, spec.sourceRevisionConfig, spec.sourceConfig.resourceSpec ?? null, environment];
  return createHmac('sha256', platformKey).update(stableJson(made)).digest('hex').slice(0, 32);
}
