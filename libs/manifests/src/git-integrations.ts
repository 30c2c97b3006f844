import { isJsonObject } from '#lib/json';

/** Secret of a workspace's namespace with its git integrations, one a key: the id, and JSON as `GitIntegration`. */
export const GIT_INTEGRATIONS = 'git-integrations';

/** Credentials of the platform for a git host. */
export interface GitIntegration {
  readonly name: string;
  /** `github.com`, `git.example.org:8443`: the only host that gets the token. */
  readonly host: string;
  readonly username?: string;
  readonly token: string;
  /** PEM of a certificate that the host is trusted by, beside those of Node. */
  readonly ca?: string;
  /** Secret with which its host signs pushes; absent: no pushes are accepted from it. */
  readonly webhookSecret?: string;
}

/** One value of the Secret; undefined when it is no integration. */
export function parseGitIntegration(base64: string): GitIntegration | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { name, host, username, token, ca, webhookSecret } = value;
  if (typeof name !== 'string' || typeof host !== 'string' || typeof token !== 'string') return undefined;
  return {
    name,
    host,
    token,
    ...(typeof username === 'string' ? { username } : {}),
    ...(typeof ca === 'string' ? { ca } : {}),
    ...(typeof webhookSecret === 'string' ? { webhookSecret } : {}),
  };
}

export function formatGitIntegration(integration: GitIntegration): string {
  return Buffer.from(JSON.stringify(integration), 'utf8').toString('base64');
}
