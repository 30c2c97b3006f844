import type { KubeClient, Reader } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type FormerCredentials,
  formerCredentials,
  formerCredentialsText,
  isDeleting,
  LABEL,
  type ObjectKey,
  RESOURCES,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import { isFinished } from '../bulk-export/export-phase.js';
import type { DatabaseTime } from '../database-time.js';

/** Everything that the former credentials of one destination depend on. */
export interface FormerWorld {
  readonly former: readonly FormerCredentials[];
  /** Destinations of the workspace. */
  readonly destinations: readonly BulkExportDestination[];
  readonly exports: readonly BulkExport[];
  readonly runs: readonly BulkExportRun[];
  readonly now: Date;
}

export interface FormerDecision {
  /** Names of Secrets that nothing needs. */
  readonly unneeded: readonly string[];
  /** Delay in milliseconds until the others are checked again; undefined when there are none. */
  readonly lookMs: number | undefined;
}

/**
 * An export that begins reads its destination from a cache and makes runs of it afterwards: for so long it may name what
 * was current a moment ago. Caches lag by seconds.
 */
const SETTLED_MS = 600_000;
/** A day that has not ended may need them for hours. */
const LOOK_MS = 60_000;

/**
 * Decides which former Secrets nothing needs any more. Later runs of an export go where its first one goes, so a run that
 * has ended still names what its export needs.
 */
export function decideFormer({ former, destinations, exports, runs, now }: FormerWorld): FormerDecision {
  const unfinished = new Set(exports.filter((one) => !isFinished(one)).map(({ metadata }) => metadata.name));
  const needed = new Set(destinations.map(({ spec }) => spec.credentialsSecretRef?.name));
  for (const run of runs)
    if (!isFinished(run) || unfinished.has(run.spec.exportName))
      needed.add(run.spec.destination.credentialsSecretName);
  const settledMs = (since: string): number => Date.parse(since) + SETTLED_MS - now.getTime();
  const unneeded = former
    .filter(({ secretName, since }) => settledMs(since) <= 0 && !needed.has(secretName))
    .map(({ secretName }) => secretName);
  const looks = former
    .filter(({ secretName }) => !unneeded.includes(secretName))
    .map(({ since }) => Math.max(settledMs(since), LOOK_MS));
  return { unneeded, lookMs: looks.length === 0 ? undefined : Math.min(...looks) };
}

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
