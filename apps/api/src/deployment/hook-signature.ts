import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Headers of a request, by their names in lower case. */
export type HookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * True when a git host that knows the secret sent this body: GitHub and Forgejo sign it
 * (`X-Hub-Signature-256`), as Gitea does (`X-Gitea-Signature`, `X-Forgejo-Signature`, `X-Gogs-Signature`);
 * GitLab shows the secret itself (`X-Gitlab-Token`).
 * @param body as it came: a body that was parsed and printed again has another signature
 */
export function isSignedBy(secret: string, headers: HookHeaders, body: Buffer): boolean {
  const token = headers['x-gitlab-token'];
  if (typeof token === 'string' && isSame(token, secret)) return true;
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const isOf = (name: string, prefix = ''): boolean => {
    const given = headers[name];
    return typeof given === 'string' && isSame(given.toLowerCase(), prefix + signature);
  };
  return (
    isOf('x-hub-signature-256', 'sha256=') ||
    isOf('x-gitea-signature') ||
    isOf('x-forgejo-signature') ||
    isOf('x-gogs-signature')
  );
}

/** Compares in constant time, lengths included. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
