import type { KubeClient } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import { type AgentDeployment, type AgentRevision, CONFIG_MAPS, idOf } from '#lib/resources';
import type { RevisionArchive } from '#lib/trace-store';
import { archivedOutputs, archivedRevision, outputNames } from './revision-record.js';

/**
 * Stores revisions in Postgres before they are deleted: at every moment REST finds them in one of both. A revision that
 * is stored and not deleted, because the program ended in between, is stored again by the next pass.
 */
export class RevisionArchiver {
  constructor(
    private readonly client: Pick<KubeClient, 'find'>,
    private readonly archive: Pick<RevisionArchive, 'store' | 'forget'>,
  ) {}

  async store(
    deployment: AgentDeployment,
    revisions: readonly AgentRevision[],
    tenantId: string,
  ): Promise<void> {
    const owner = { tenantId, deploymentId: idOf(deployment) ?? '' };
    for (const revision of revisions)
      await this.archive.store(owner, archivedRevision(revision), await this.#outputsOf(revision));
  }

  /** Drops what is archived of a deployment that is deleted. @param id the deployment's own */
  async forget(id: string, tenantId: string): Promise<void> {
    await this.archive.forget({ tenantId, deploymentId: id });
  }

  async #outputsOf(revision: AgentRevision): Promise<string | undefined> {
    const { namespace = '' } = revision.metadata;
    const found = await Promise.all(
      outputNames(revision).map((name) => this.client.find(CONFIG_MAPS, { namespace, name })),
    );
    return archivedOutputs(found.flatMap((one) => (one && isOwnedBy(one, revision) ? [one] : [])));
  }
}
