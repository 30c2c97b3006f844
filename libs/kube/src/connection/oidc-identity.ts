import { randomUUID } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { dirname, resolve } from 'node:path';
import type { Clock } from '#lib/time';
import type { KubeAuthorization } from './kube-connection.js';

/** `users[].user.auth-provider.config` of an OIDC login. */
export type OidcLogin = Readonly<Record<string, string | undefined>>;

interface OidcPlace {
  /** The kubeconfig, which gets the tokens of a renewal. */
  readonly path: string;
  /** The entry of `users` that holds the login. */
  readonly user: string;
  readonly clock: Clock;
}

/** A token is renewed a little before it ends, so that none ends on its way. */
const EARLY_MS = 10_000;

/**
 * The id token of an OIDC login, renewed with its refresh token as kubectl does. An issuer may accept each refresh token
 * once, so renewed tokens are written into the kubeconfig, and those that another program wrote there meanwhile are taken.
 */
export function oidcIdentity(login: OidcLogin, place: OidcPlace): KubeAuthorization {
  let known = login;
  let renewal: Promise<OidcLogin> | undefined;
  const isGood = (one: OidcLogin): boolean => place.clock.now().getTime() < endOf(one['id-token']) - EARLY_MS;
  const renew = async (): Promise<OidcLogin> => {
    const written = await readLogin(place);
    if (written && isGood(written)) return written;
    const renewed = await refresh({ ...known, ...written }, dirname(place.path));
    await writeLogin(place, renewed);
    return renewed;
  };
  return {
    async authorization() {
      if (!isGood(known)) {
        renewal ??= renew().finally(() => (renewal = undefined));
        known = await renewal;
      }
      return `Bearer ${known['id-token'] ?? ''}`;
    },
  };
}

/** Time in milliseconds at which a JWT ends; 0 for any other text, which a renewal replaces. */
function endOf(token = ''): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const end = (claims as { readonly exp?: unknown }).exp;
    return typeof end === 'number' ? end * 1000 : 0;
  } catch {
    return 0;
  }
}

async function refresh(login: OidcLogin, folder: string): Promise<OidcLogin> {
  const { 'idp-issuer-url': issuer, 'client-id': client, 'refresh-token': token } = login;
  if (!issuer || !client || !token)
    throw new Error(
      'the OIDC login of the kubeconfig has ended and has no refresh token: log in again with the tool that made it',
    );
  // 6 MB, for those alone whose token has ended
  const { discovery, customFetch, refreshTokenGrant, None } = await import('openid-client');
  const data = login['idp-certificate-authority-data'];
  const file = login['idp-certificate-authority'];
  const ca = data
    ? Buffer.from(data, 'base64').toString('utf8')
    : file && (await readFile(resolve(folder, file), 'utf8'));
  const secret = login['client-secret'];
  try {
    const issued = await refreshTokenGrant(
      await discovery(new URL(issuer), client, secret, secret ? undefined : None(), {
        ...(ca ? { [customFetch]: fetchWith(ca) } : {}),
      }),
      token,
    );
    if (!issued.id_token) throw new Error('its answer has no id token');
    return { ...login, 'id-token': issued.id_token, 'refresh-token': issued.refresh_token ?? token };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`renewing the OIDC login at ${issuer} failed: ${reason}; log in again`, { cause });
  }
}

/** Fetch with an authority of its own, which Node's takes from the environment alone. */
function fetchWith(ca: string) {
  return (
    url: string,
    options: { readonly method: string; readonly headers: Record<string, string>; readonly body?: unknown },
  ): Promise<Response> =>
    new Promise((answered, reject) => {
      const { method, headers, body } = options;
      const call = request(url, { method, headers, ca, timeout: 30_000 }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () => {
          const type = response.headers['content-type'] ?? '';
          const init = { status: response.statusCode ?? 502, headers: { 'content-type': type } };
          answered(new Response(Buffer.concat(pieces), init));
        });
      });
      call.on('timeout', () => call.destroy(new Error('no answer within 30 s')));
      call.on('error', reject);
      call.end(body === undefined || body === null ? undefined : String(body));
    });
}

/** The users of a kubeconfig as a YAML document, which keeps comments and everything that this program does not know. */
async function openUsers({ path, user }: OidcPlace) {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(await readFile(path, 'utf8'));
  const { users } = document.toJS() as { readonly users?: readonly { readonly name?: string }[] };
  const at = users?.findIndex(({ name }) => name === user) ?? -1;
  return { document, place: ['users', at, 'user', 'auth-provider', 'config'] as const };
}

async function readLogin(place: OidcPlace): Promise<OidcLogin | undefined> {
  const { document, place: at } = await openUsers(place);
  const found = document.getIn(at) as { toJSON?: () => OidcLogin } | undefined;
  return found?.toJSON?.();
}

/** A kubeconfig that cannot be written, as in a mounted Secret, leaves the tokens to this program alone. */
async function writeLogin(place: OidcPlace, login: OidcLogin): Promise<void> {
  const draft = `${place.path}.${randomUUID()}`;
  try {
    const { document, place: at } = await openUsers(place);
    for (const key of ['id-token', 'refresh-token']) document.setIn([...at, key], login[key]);
    await writeFile(draft, document.toString(), { mode: (await stat(place.path)).mode & 0o777, flag: 'wx' });
    await rename(draft, place.path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EROFS', 'EPERM', 'EBUSY'].includes(code)) throw error;
  }
}
