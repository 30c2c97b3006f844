import { createHmac } from 'node:crypto';
import { stableJson } from '#lib/json';
import { withScaleOf } from '#lib/manifests';
import type { AgentDeployment, AgentRevision, ResourceSpec } from '#lib/resources';

/**
 * Hash of everything that makes a revision, which numbers of pods do not, keyed with the deployment's own platform key: the hash is an annotation, and
 * short secrets could be guessed from a plain hash by a reader of revisions who may not read Secrets.
 * @param environment values of the secretsRef Secret, base64
 */
export function revisionHash(
  deployment: Pick<AgentDeployment, 'spec'>,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): string {
  return hashWith(
    deployment,
    withScaleOf(deployment.spec.sourceConfig.resourceSpec, {}),
    environment,
    platformKey,
  );
}

/**
 * The hashes that earlier versions, which counted numbers of pods, gave a revision of the present spec, with the present
 * numbers or those of the revision.
 */
export function formerHashes(
  deployment: Pick<AgentDeployment, 'spec'>,
  { spec: { resourceSpec: former = {} } }: Pick<AgentRevision, 'spec'>,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): readonly string[] {
  const { resourceSpec } = deployment.spec.sourceConfig;
  return [resourceSpec, withScaleOf(resourceSpec, former)].map((one) =>
    hashWith(deployment, one, environment, platformKey),
  );
}

function hashWith(
  { spec }: Pick<AgentDeployment, 'spec'>,
  resourceSpec: ResourceSpec | undefined,
  environment: Readonly<Record<string, string>>,
  platformKey: string,
): string {
  const { secretReferences = [] } = spec;
  const made = [
    spec.source,
    spec.sourceRevisionConfig,
    resourceSpec ?? null,
    environment,
    // revisions without any keep the hash that they had
    ...(secretReferences.length > 0 ? [secretReferences] : []),
  ];
  return createHmac('sha256', platformKey).update(stableJson(made)).digest('hex').slice(0, 32);
}
