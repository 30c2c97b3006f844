import {
  decodeJwt,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  jwtVerify,
  SignJWT,
  type JWTPayload,
} from 'jose';
import { createPublicKey, randomUUID, type KeyObject, type webcrypto } from 'node:crypto';
import { join } from 'node:path';
import { ensureSecretFile } from './secret-file.js';

export const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const ALGORITHM = 'ES256';

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
      const { nbf = 0 } = decodeJwt(token); // believed once the signature is verified
      const { payload } = await jwtVerify(token, this.publicKey, {
        issuer: ISSUER,
        algorithms: [ALGORITHM],
        currentDate: new Date(Math.max(now.getTime(), nbf * 1000)),
        clockTolerance: 10,
      });
      return payload;
    } catch {
      return undefined;
    }
  }
}
