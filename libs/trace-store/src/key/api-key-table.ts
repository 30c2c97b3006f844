import type { EntityManager, Repository } from 'typeorm';
import { type Caller, type KeyGrant, type KeyScope, mintApiKey, parseApiKey, sameHash } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { Pool } from '#lib/postgres';
import { type ControlTables, takeLimitLock } from '../control/control-tables.js';
import type { ApiKeyEntity } from './api-key-entity.js';

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

interface VerifiedRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly deployment: string | null;
  readonly project: string | null;
  readonly hash: Buffer;
  readonly stale: boolean;
  readonly expires_in_ms: number | null;
}

const VERIFY = `SELECT id, tenant_id, name, scope, deployment, project, hash,
  coalesce(last_used_at < now() - interval '1 minute', true) AS stale,
  (extract(epoch FROM expires_at - now()) * 1000)::float8 AS expires_in_ms
FROM api_keys WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;

/** A check of the table enforces the requirements here. */
function grantOf({ id, scope, deployment, project }: VerifiedRow): KeyGrant {
  if (scope !== 'deployment') return { scope };
  if (deployment === null || project === null)
    throw new Error(`reading the API key ${id} failed: it has the scope deployment and names none`);
  return { scope, deployment, project };
}

/** The table `api_keys`. */
export class ApiKeyTable {
  /** @param pool for `verify`, which every request waits for */
  constructor(
    private readonly tables: ControlTables,
    private readonly pool: Pool,
    private readonly max: number = Number.POSITIVE_INFINITY,
  ) {}

  /** Makes a key. It is in this answer and nowhere else; only its hash is stored. */
  async mint(tenantId: string, options: NewApiKey): Promise<{ readonly key: string; readonly id: string }> {
    const { key, id, hash } = mintApiKey();
    const { ApiKeyEntity } = await import('./api-key-entity.js');
    const source = await this.tables.source();
    await source.transaction(async (manager) => {
      if (options.scope !== 'deployment') await this.#makeRoom(manager, tenantId);
      await manager.insert(ApiKeyEntity, { ...options, id, tenantId, hash });
    });
    return { key, id };
  }

  /** Holder of this key; undefined for malformed, unknown, expired and revoked keys alike. */
  async verify(key: string): Promise<Caller | undefined> {
    const parsed = parseApiKey(key);
    return parsed && this.verifyProof(parsed.id, (hash) => sameHash(hash, parsed.hash));
  }

  /**
   * Holder of the key of this id, if the proof holds; undefined for unknown, expired and revoked keys.
   * @param proves judges by the hash of the key, which is stored, and which the holder can make of the key
   */
  async verifyProof(id: string, proves: (hash: Buffer) => boolean): Promise<Caller | undefined> {
    // SQL that is prepared once for a connection, since every request waits for it
    const result = await this.pool.query<VerifiedRow>({ name: 'verify-api-key', text: VERIFY, values: [id] });
    const row = result.rows[0];
    if (!row || !proves(row.hash)) return undefined;
    // once a minute is fine enough for "is this key still used?" and spares a write for each request
    if (row.stale) await this.pool.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [row.id]);
    return {
      tenantId: row.tenant_id,
      keyId: row.id,
      keyName: row.name,
      ...grantOf(row),
      ...(row.expires_in_ms === null ? {} : { expiresInMs: row.expires_in_ms }),
    };
  }

  /** False when there was no such key in force. */
  async revoke(tenantId: string, id: string): Promise<boolean> {
    return (await this.#revoke({ tenantId, id })) === 1;
  }

  /** Revokes every key of a deployment; for its deletion. */
  async revokeOfDeployment(tenantId: string, deployment: string): Promise<number> {
    return this.#revoke({ tenantId, deployment, scope: 'deployment' });
  }

  /** Newest first, revoked and expired ones too. */
  async list(tenantId: string): Promise<readonly ApiKeyRecord[]> {
    const repository = await this.#repository();
    const found = await repository.find({ where: { tenantId }, order: { createdAt: 'DESC', id: 'ASC' } });
    return found.map(({ hash: _hash, project: _project, ...shown }) => ({
      ...shown,
      deployment: shown.deployment ?? undefined,
      expiresAt: shown.expiresAt ?? undefined,
      lastUsedAt: shown.lastUsedAt ?? undefined,
      revokedAt: shown.revokedAt ?? undefined,
    }));
  }

  /** Keys that ended are listed, and the audit log has them all: the oldest of too many are forgotten. */
  async #makeRoom(manager: EntityManager, tenantId: string): Promise<void> {
    if (this.max === Number.POSITIVE_INFINITY) return;
    await takeLimitLock(manager, 'api_keys', tenantId);
    const rows = await manager.query<readonly { readonly count: number }[]>(
      `WITH ended AS (
        SELECT id FROM api_keys WHERE tenant_id = $1 AND (revoked_at IS NOT NULL OR expires_at <= now())
        ORDER BY created_at DESC, id OFFSET $2),
      forgotten AS (DELETE FROM api_keys WHERE id IN (SELECT id FROM ended))
      SELECT count(*)::int AS count FROM api_keys WHERE tenant_id = $1 AND scope <> 'deployment'
        AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
      [tenantId, this.max],
    );
    if ((rows[0]?.count ?? 0) < this.max) return;
    throw new PublicError(
      'forbidden',
      `creating an API key failed: the workspace has ${this.max} keys in force, the most that it may; revoke some`,
    );
  }

  async #repository(): Promise<Repository<ApiKeyEntity>> {
    const { ApiKeyEntity } = await import('./api-key-entity.js');
    return this.tables.repository(ApiKeyEntity);
  }

  async #revoke(which: {
    tenantId: string;
    id?: string;
    deployment?: string;
    scope?: KeyScope;
  }): Promise<number> {
    const repository = await this.#repository();
    const result = await repository
      .createQueryBuilder()
      .update()
      .set({ revokedAt: () => 'now()' })
      .where(which)
      .andWhere('revoked_at IS NULL')
      .execute();
    return result.affected ?? 0;
  }
}

export type ApiKeys = Pick<ApiKeyTable, keyof ApiKeyTable>;
