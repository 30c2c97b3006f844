import { WaitingError } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import { type GitLogin, PLATFORM_KEY } from '#lib/manifests';
import { type AgentRevision, REASON, SECRETS } from '#lib/resources';

const KEY_LOOK_MS = 5_000;

/**
 * The deployment's own key as the login of a build that fetches an archive from the platform.
 * @throws WaitingError while the key is being made
 */
export async function findKey(
  client: Pick<KubeClient, 'find'>,
  { metadata: { namespace = '' }, spec: { platformSecretName: name } }: AgentRevision,
): Promise<GitLogin> {
  const secret = await client.find(SECRETS, { namespace, name });
  const value = secret?.data?.[PLATFORM_KEY];
  if (value === undefined)
    throw new WaitingError(
      REASON.awaitingBuild,
      `Secret ${name} with the key of the deployment does not exist yet`,
      KEY_LOOK_MS,
    );
  return { token: Buffer.from(value, 'base64').toString('utf8') };
}
