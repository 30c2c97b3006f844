import { TerminalError } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import { GIT_INTEGRATIONS, type GitLogin, parseGitIntegration } from '#lib/manifests';
import { REASON, SECRETS } from '#lib/resources';
import type { GitRemote } from '../git-remote/find-commit.js';

/** A repository and the integration with which it is read. */
export interface GitSource {
  readonly repoUrl: string;
  readonly integrationId?: string;
}

/**
 * Credentials for the host of a repository; undefined without an integration.
 * @throws TerminalError when the integration does not exist, or is for another host: its token must not reach this one
 */
export async function findLogin(
  client: Pick<KubeClient, 'find'>,
  namespace: string,
  { repoUrl, integrationId }: GitSource,
): Promise<GitLogin> {
  if (integrationId === undefined) return {};
  const id = integrationId.toLowerCase();
  const secret = await client.find(SECRETS, { namespace, name: GIT_INTEGRATIONS });
  const data = secret?.data ?? {};
  const value = Object.hasOwn(data, id) ? data[id] : undefined;
  const found = value === undefined ? undefined : parseGitIntegration(value);
  if (!found)
    throw new TerminalError(
      REASON.integrationMissing,
      `git integration ${id} does not exist in this workspace; create it, or deploy with another integration_id`,
    );
  const { host } = new URL(repoUrl);
  if (found.host.toLowerCase() !== host.toLowerCase())
    throw new TerminalError(
      REASON.integrationMissing,
      `git integration ${found.name} is for ${found.host}, and the repository is at ${host}; name the integration of that host`,
    );
  const { username, token, ca } = found;
  return { token, ...(username === undefined ? {} : { username }), ...(ca === undefined ? {} : { ca }) };
}

/**
 * A repository, and how its host lets the platform in.
 * @throws TerminalError as `findLogin`
 */
export async function findRemote(
  client: Pick<KubeClient, 'find'>,
  namespace: string,
  source: GitSource,
): Promise<GitRemote> {
  const { token, username = 'x-access-token', ca } = await findLogin(client, namespace, source);
  return {
    url: source.repoUrl,
    ...(token === undefined ? {} : { login: { username, token } }),
    ...(ca === undefined ? {} : { ca }),
  };
}
