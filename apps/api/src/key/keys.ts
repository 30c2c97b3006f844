import { PublicError } from '#lib/errors';
import type { ApiKeyRecord, ApiKeys } from '#lib/trace-store';
import type { KeyAnswer, NewKeyAnswer } from './key-answer.js';

const DEFAULT_DESCRIPTION = 'API key';

function renderKey(record: ApiKeyRecord): KeyAnswer {
  return {
    id: record.id,
    short_key: `apk_${record.id}`,
    description: record.name,
    kind: record.kind,
    deployment: record.deployment ?? null,
    created_at: record.createdAt.toISOString(),
    last_used_at: record.lastUsedAt?.toISOString() ?? null,
    revoked_at: record.revokedAt?.toISOString() ?? null,
  };
}

/** The API keys of one workspace at a time. */
export class Keys {
  constructor(private readonly apiKeys: Pick<ApiKeys, 'list' | 'mint' | 'revoke'>) {}

  /** Newest first. */
  async list(tenantId: string, includeRevoked: boolean): Promise<readonly KeyAnswer[]> {
    const records = await this.apiKeys.list(tenantId);
    return records
      .filter(({ revokedAt }) => includeRevoked || revokedAt === undefined)
      .map((record) => renderKey(record));
  }

  async create(tenantId: string, description: string | null | undefined): Promise<NewKeyAnswer> {
    const name = description ?? DEFAULT_DESCRIPTION;
    const { key, id } = await this.apiKeys.mint(tenantId, { name, kind: 'person' });
    return { ...renderKey(await this.#get(tenantId, id)), key };
  }

  /**
   * Revokes a key that is in force. A deployment's own key is not for people to revoke: its traces would be refused.
   * @throws PublicError not_found, conflict for the key of a deployment
   */
  async revoke(tenantId: string, id: string): Promise<KeyAnswer> {
    const { deployment } = await this.#get(tenantId, id);
    if (deployment !== undefined)
      throw new PublicError(
        'conflict',
        `API key ${id} belongs to the deployment ${deployment} and is revoked when that is deleted`,
      );
    if (!(await this.apiKeys.revoke(tenantId, id))) throw notFound(id);
    return renderKey(await this.#get(tenantId, id));
  }

  async #get(tenantId: string, id: string): Promise<ApiKeyRecord> {
    const found = (await this.apiKeys.list(tenantId)).find((record) => record.id === id);
    if (!found) throw notFound(id);
    return found;
  }
}

function notFound(id: string): PublicError {
  return new PublicError('not_found', `API key ${id} not found`);
}
