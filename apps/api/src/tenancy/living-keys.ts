import type { Caller } from '#lib/auth';
import type { ApiKeys } from '#lib/trace-store';
import type { Workspaces } from './workspaces.js';

/**
 * Keys of existing workspaces. A workspace is deleted in Kubernetes, its keys are stored in Postgres: checked
 * together for each request, a key ends with its workspace, also when the platform was down while that was
 * deleted.
 */
export class LivingKeys implements Pick<ApiKeys, 'verify' | 'verifyProof'> {
  constructor(
    private readonly apiKeys: Pick<ApiKeys, 'verify' | 'verifyProof'>,
    private readonly workspaces: Pick<Workspaces, 'has'>,
  ) {}

  async verify(key: string): Promise<Caller | undefined> {
    return this.#living(await this.apiKeys.verify(key));
  }

  async verifyProof(id: string, proves: (hash: Buffer) => boolean): Promise<Caller | undefined> {
    return this.#living(await this.apiKeys.verifyProof(id, proves));
  }

  #living(caller: Caller | undefined): Caller | undefined {
    return caller && this.workspaces.has(caller.tenantId) ? caller : undefined;
  }
}
