import { createPublicKey, type KeyObject, randomUUID, type webcrypto } from 'node:crypto';
import { link, mkdir, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  decodeJwt,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { isMissingFile, unless } from '#lib/errors';

/** The text of a file of secrets; made (0600) with what `make` gives when it is not there yet. */
export async function ensureSecretFile(path: string, make: () => Promise<string>): Promise<string> {
  const found = await readFile(path, 'utf8').catch(unless(isMissingFile));
  if (found !== undefined) return found;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = await writeDraft(path, await make());
  try {
    // a link never overwrites: of two that begin at once, one key wins and both use it
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
  return readFile(path, 'utf8');
}

/** Puts what `make` gives in the place of a file of secrets, whole at every moment; answers it. */
export async function replaceSecretFile(path: string, make: () => Promise<string>): Promise<string> {
  const text = await make();
  await rename(await writeDraft(path, text), path);
  return text;
}

async function writeDraft(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  return draft;
}

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const ALGORITHM = 'ES256';
const TOLERANCE_SECONDS = 10;
/** A program sends its token with each request, and verifying the signature takes longer than many of them. */
const MOST_VERIFIED = 1_000;

/** The object a token is bound to: it is good as long as that lives. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node';
  readonly name: string;
  readonly uid: string;
}

export interface TokenSubject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly boundTo?: BoundObject;
}

export interface TokenRequest {
  readonly subject: TokenSubject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly now: Date;
}

/** Signs and verifies the tokens of service accounts with `service-account.key` of its folder. */
export class TokenIssuer {
  /** Claims of tokens with a good signature, by the token; the oldest first. */
  readonly #verified = new Map<string, JWTPayload>();

  private constructor(
    private readonly privateKey: webcrypto.CryptoKey,
    private readonly publicKey: KeyObject,
  ) {}

  static async open(folder: string): Promise<TokenIssuer> {
    const pem = await ensureSecretFile(join(folder, 'service-account.key'), async () => {
      const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
      return exportPKCS8(privateKey);
    });
    return new TokenIssuer(await importPKCS8(pem, ALGORITHM), createPublicKey(pem));
  }

  async issue({ subject, audiences, expirationSeconds, now }: TokenRequest): Promise<string> {
    const issuedAt = Math.floor(now.getTime() / 1000);
    const { namespace, name, uid, boundTo } = subject;
    const bound = boundTo ? { [boundTo.kind.toLowerCase()]: { name: boundTo.name, uid: boundTo.uid } } : {};
    return new SignJWT({ 'kubernetes.io': { namespace, serviceaccount: { name, uid }, ...bound } })
      .setProtectedHeader({ alg: ALGORITHM })
      .setIssuer(ISSUER)
      .setAudience([...audiences])
      .setSubject(`system:serviceaccount:${namespace}:${name}`)
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(issuedAt + expirationSeconds)
      .setJti(randomUUID())
      .sign(this.privateKey);
  }

  /**
   * The claims of a token of ours that is good now; undefined for any other. One that was issued later than now shows that
   * the clock was set back, and is judged as at its issue: its bearer would be shut out until the clock is there again.
   */
  async verify(token: string, now: Date): Promise<JWTPayload | undefined> {
    try {
      const claims = this.#verified.get(token) ?? decodeJwt(token); // believed once the signature is verified
      const currentDate = new Date(Math.max(now.getTime(), (claims.nbf ?? 0) * 1000));
      if (this.#verified.has(token)) return isOver(claims, currentDate) ? undefined : claims;
      const { payload } = await jwtVerify(token, this.publicKey, {
        issuer: ISSUER,
        algorithms: [ALGORITHM],
        currentDate,
        clockTolerance: TOLERANCE_SECONDS,
      });
      this.#verified.set(token, payload);
      const [oldest = ''] = this.#verified.keys();
      if (this.#verified.size > MOST_VERIFIED) this.#verified.delete(oldest);
      return payload;
    } catch {
      return undefined;
    }
  }
}

function isOver({ exp = 0 }: JWTPayload, now: Date): boolean {
  return exp <= Math.floor(now.getTime() / 1000) - TOLERANCE_SECONDS;
}
