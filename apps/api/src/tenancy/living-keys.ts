import type { Caller } from '#lib/auth';
import type { ApiKeys } from '#lib/trace-store';
import type { Workspaces } from './workspaces.js';

/**
 * Keys of existing workspaces. A workspace is deleted in Kubernetes, its keys lie in Postgres: checked together for each
 * request, a key ends with its workspace, also when the platform was down while that was deleted.
 */
export class LivingKeys implements Pick<ApiKeys, 'verify'> {
  constructor(
    private readonly apiKeys: Pick<ApiKeys, 'verify'>,
    private readonly workspaces: Pick<Workspaces, 'has'>,
  ) {}

  async verify(key: string): Promise<Caller | undefined> {
    const caller = await this.apiKeys.verify(key);
    return caller && this.workspaces.has(caller.tenantId) ? caller : undefined;
  }
}
