import type { Caller, KeyGrant, KeyScope } from '#lib/auth';

/** Public data of a key. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly deployment: string | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly lastUsedAt: Date | undefined;
  readonly revokedAt: Date | undefined;
}

/** A key to be made. */
export type NewApiKey = KeyGrant & {
  readonly name: string;
  /** Time of expiry, by the database's clock; from then on the key is treated as unknown. */
  readonly expiresAt?: Date;
};

export interface ApiKeys {
  /** Makes a key. It is in this answer and nowhere else; only its hash is stored. */
  mint(tenantId: string, options: NewApiKey): Promise<{ readonly key: string; readonly id: string }>;
  /** Holder of this key; undefined for malformed, unknown, expired and revoked keys alike. */
  verify(key: string): Promise<Caller | undefined>;
  /**
   * Holder of the key of this id, if the proof holds; undefined for unknown, expired and revoked keys.
   * @param proves judges by the hash of the key, which is stored, and which the holder can make of the key
   */
  verifyProof(id: string, proves: (hash: Buffer) => boolean): Promise<Caller | undefined>;
  /** False when there was no such key in force. */
  revoke(tenantId: string, id: string): Promise<boolean>;
  /** Revokes every key of a deployment; for its deletion. */
  revokeOfDeployment(tenantId: string, deployment: string): Promise<number>;
  /** Newest first, revoked and expired ones too. */
  list(tenantId: string): Promise<readonly ApiKeyRecord[]>;
}
