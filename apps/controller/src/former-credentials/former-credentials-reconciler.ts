import type { KubeClient, Reader } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  formerCredentials,
  formerCredentialsText,
  isDeleting,
  LABEL,
  type ObjectKey,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import type { DatabaseTime } from '../database-time.js';
import { decideFormer } from './decide-former.js';

export interface FormerCredentialsDependencies {
  readonly client: KubeClient;
  readonly time: Pick<DatabaseTime, 'now'>;
  readonly destinations: Pick<Reader<BulkExportDestination>, 'find' | 'list'>;
  readonly exports: Pick<Reader<BulkExport>, 'list'>;
  readonly runs: Pick<Reader<BulkExportRun>, 'list'>;
}

/**
 * Deletes the Secrets that a destination had before, once no export needs them. REST writes down their names when it
 * gives a destination other credentials: the controller may not list Secrets.
 */
export class FormerCredentialsReconciler {
  constructor(private readonly deps: FormerCredentialsDependencies) {}

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client, destinations, exports, runs, time } = this.deps;
    const destination = destinations.find(key);
    // all of its Secrets are owned by it, and go with it
    if (!destination || isDeleting(destination)) return done();
    const former = formerCredentials(destination);
    if (former.length === 0) return done();
    const { namespace = '', resourceVersion, uid } = destination.metadata;
    const { unneeded, lookMs } = decideFormer({
      former,
      destinations: destinations.list(namespace),
      exports: exports.list(namespace),
      runs: runs.list(namespace),
      now: await time.now(),
    });
    for (const name of unneeded) await this.#delete(namespace, name, uid);
    if (unneeded.length > 0) {
      const left = former.filter(({ secretName }) => !unneeded.includes(secretName));
      const annotations = { [ANNOTATION.formerCredentials]: formerCredentialsText(left) };
      await client.mergeMetadata(RESOURCES.BulkExportDestination, key, { uid, resourceVersion, annotations });
    }
    return lookMs === undefined ? done() : after(lookMs);
  }

  /**
   * Deletes a Secret only if it was made for the destination: any writer of a destination may name any Secret
   * there.
   */
  async #delete(namespace: string, name: string, uid: string | undefined): Promise<void> {
    const { client } = this.deps;
    const secret = await client.find(SECRETS, { namespace, name });
    const owners = secret?.metadata.ownerReferences ?? [];
    const isOurs =
      secret?.type === SECRET_TYPE.destinationCredentials &&
      secret.metadata.labels?.[LABEL.managedBy] !== undefined &&
      owners.some((owner) => owner.uid === uid);
    if (isOurs) await client.delete(SECRETS, { namespace, name });
  }
}
