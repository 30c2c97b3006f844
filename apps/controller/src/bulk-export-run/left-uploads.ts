import { errorText } from '#lib/errors';
import { addressOfRun, partKey } from '#lib/export-plan';
import type { Informer, KubeClient, LeaderElector } from '#lib/kube';
import { type ObjectStore, ObjectStoreError, openObjectStore, usedWithin } from '#lib/object-store';
import {
  type BulkExportRun,
  type BulkExportRunSpec,
  exportJobName,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { Tick } from '#lib/nest';
import type { Clock } from '#lib/time';
import {
  type ExportIntent,
  type ExportProgressRecord,
  finishedFile,
  type FinishedFile,
  type TraceStore,
} from '#lib/trace-store';
import {
  type CredentialData,
  environmentProblem,
  storeSettings,
} from '../bulk-export-destination/store-settings.js';
import { workspaceOf } from '../caches.js';

/** Result of clearing away the object that an ended run had begun. */
export interface ClearedUpload {
  /** The finished object, where the key may not delete it: it stays in the bucket, and is counted. */
  readonly left: FinishedFile | undefined;
}

/**
 * Aborts the upload that an intent names, and deletes the object that it became. Touches nothing else: the key must be
 * the one that this run's part has, which holds the id of the export, and an object must carry the mark of the intent.
 * @throws ObjectStoreError when the store cannot be reached or refuses the credentials
 */
async function clearUpload(
  spec: BulkExportRunSpec,
  intent: ExportIntent,
  store: ObjectStore,
): Promise<ClearedUpload> {
  const { bucketName } = spec.destination.config;
  if (intent.key !== partKey(addressOfRun(spec, intent.resource), intent.part + 1))
    return { left: undefined };
  // first, so that what is found afterwards stays as it is
  if (intent.uploadId === undefined) await permitted(store.abortUploadsOf(bucketName, intent.key));
  else await store.abortUpload(bucketName, intent.key, intent.uploadId);
  const found = await permitted(store.stat(bucketName, intent.key));
  if (!found || intent.mark === undefined || found.mark !== intent.mark) return { left: undefined };
  const isDeleted = await permitted(store.delete(bucketName, intent.key).then(() => true));
  return { left: isDeleted ? undefined : finishedFile(intent, found) };
}

/** Listing, reading and deleting are optional: undefined where the key may not, or the store cannot. */
async function permitted<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.isWithheld) return undefined;
    throw error;
  }
}

export interface LeftUploadsDependencies {
  readonly client: Pick<KubeClient, 'find' | 'delete'>;
  readonly traceStore: Pick<TraceStore, 'exportProgress'>;
  readonly runs: Pick<Informer<BulkExportRun>, 'list'>;
  readonly workspaces: Informer<Workspace>;
  readonly leader: Pick<LeaderElector, 'isLeader'>;
  readonly systemNamespace: string;
  readonly allowPrivateEndpoints: boolean;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'after'>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

const EVERY_MINUTE = '* * * * *';
/** A worker that was stopped has this long to end; what it began in its last moment is found after it. */
const SETTLED_AFTER_MS = 60_000;
const PAGE = 200;
/** Pages read per tick; the next tick continues after them. */
const MAX_PAGES = 10;
/**
 * Limit of concurrent clearings; the lower one per workspace keeps slow stores of one from holding up the
 * others.
 */
const AT_ONCE = 8;
const AT_ONCE_OF_WORKSPACE = 2;
/** Timeout and attempts per request: a foreign store may never answer. */
const STORE = { timeoutMs: 5_000, attempts: 2 } as const;
/** All requests for one run; and what a workspace has of one tick. */
const LONGEST_MS = 30_000;
/** Time for which a stopping controller waits for requests in flight; the next leader makes them again. */
const STOPPED_WITHIN_MS = 5_000;
/** Pause after a failure, doubled with each one, up to an hour. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 3_600_000;
/** Time after which it is given up: then the bucket's own rules must remove it. */
const GIVEN_UP_AFTER_MS = 24 * 3_600_000;

interface Failures {
  readonly pauseMs: number;
  readonly againAtMs: number;
}

interface UnderWay {
  readonly namespace: string;
  readonly work: Promise<void>;
}

/**
 * Clears away leftovers of ended runs in their buckets: uploads that were never completed, which cost money
 * and are in no list, and objects that no manifest will name. A run that ends is cleared at once; a tick
 * finds the rest, by the intent that stays in the run's progress until it is settled: leftovers of a crash,
 * an upload begun in a worker's last moment, and requests that a store refused for a while.
 */
export class LeftUploads {
  readonly #deps: LeftUploadsDependencies;
  /** Clearings in flight, by run uid. */
  readonly #underWay = new Map<string, UnderWay>();
  readonly #stores = new Set<ObjectStore>();
  readonly #failures = new Map<string, Failures>();
  /** The run uid that the last look ended with. */
  #lookedUpTo = '';
  #isStopped = false;

  constructor(deps: LeftUploadsDependencies) {
    this.#deps = deps;
  }

  /**
   * Begins to clear the leftovers of a run, if a place is free; its caller waits for no store.
   * @param isOver true when its worker has ended, so that nothing more can come
   */
  begin(run: BulkExportRun, record: ExportProgressRecord, isOver: boolean): void {
    const { runUid } = record;
    const { namespace = '' } = run.metadata;
    if (!record.intent || this.#isStopped || !this.#isDue(runUid) || !this.#hasPlace(namespace)) return;
    const work = this.#clear(run, record, isOver)
      .then(() => undefined)
      .finally(() => this.#underWay.delete(runUid));
    this.#underWay.set(runUid, { namespace, work });
  }

  /** Waits a few seconds for the requests in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const cut = (): void => this.#stores.forEach((store) => store.close());
    const cancel = this.#deps.clock.after(STOPPED_WITHIN_MS, cut);
    await Promise.all([...this.#underWay.values()].map(({ work }) => work));
    cancel();
  }

  #hasPlace(namespace: string): boolean {
    const ofWorkspace = [...this.#underWay.values()].filter((one) => one.namespace === namespace);
    return this.#underWay.size < AT_ONCE && ofWorkspace.length < AT_ONCE_OF_WORKSPACE;
  }

  /** @returns true when nothing of it is left; never throws for what a store does */
  async #clear(run: BulkExportRun, record: ExportProgressRecord, isOver: boolean): Promise<boolean> {
    const { clock, traceStore, log } = this.#deps;
    const { intent } = record;
    if (!intent) return true;
    try {
      const store = openObjectStore(await this.#settingsOf(run));
      this.#stores.add(store);
      const clearing = usedWithin(LONGEST_MS, clock, store, () => clearUpload(run.spec, intent, store));
      const { left } = await clearing.finally(() => this.#stores.delete(store));
      if (!isOver) return false;
      await traceStore.exportProgress.settle(record.runUid, left);
      await this.#removeSecret(run);
      this.#failures.delete(record.runUid);
      log.info({ run: run.metadata.name, key: intent.key }, 'cleared the unfinished file of an ended run');
      return true;
    } catch (error) {
      const { pauseMs } = this.#postpone(record.runUid);
      log.warn(
        { run: run.metadata.name, key: intent.key, error: errorText(error), againInMs: pauseMs },
        'clearing the unfinished file of an ended run failed; its upload may remain',
      );
      return false;
    }
  }

  @Tick('export uploads', EVERY_MINUTE)
  async sweep(): Promise<void> {
    const { leader, runs } = this.#deps;
    if (!leader.isLeader) return;
    const byUid = new Map(runs.list().map((run) => [run.metadata.uid ?? '', run]));
    for (const runUid of this.#failures.keys()) if (!byUid.has(runUid)) this.#failures.delete(runUid);
    const left = (await this.#look()).filter(({ runUid }) => this.#isDue(runUid));
    left.sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime());
    const ofWorkspaces = Map.groupBy(left, ({ runUid }) => byUid.get(runUid)?.metadata.namespace ?? '');
    const waiting = ofWorkspaces.values();
    const place = async (): Promise<void> => {
      for (const records of waiting) await this.#settleInTurn(records, byUid);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, place));
  }

  /** Reads the leftovers of all workspaces: one with many must not hide those of the others. */
  async #look(): Promise<readonly ExportProgressRecord[]> {
    const found: ExportProgressRecord[] = [];
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = { idleMs: SETTLED_AFTER_MS, limit: PAGE, after: this.#lookedUpTo };
      const records = await this.#deps.traceStore.exportProgress.unsettled(query);
      found.push(...records);
      this.#lookedUpTo = records.length < PAGE ? '' : (records.at(-1)?.runUid ?? '');
      if (this.#lookedUpTo === '') break;
    }
    return found;
  }

  /** One after the other, as long as the workspace has time; the next tick takes the rest. */
  async #settleInTurn(
    records: readonly ExportProgressRecord[],
    byUid: ReadonlyMap<string, BulkExportRun>,
  ): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + LONGEST_MS;
    for (const record of records) {
      if (this.#isStopped || clock.monotonicMs() >= endMs) return;
      await this.#settle(byUid.get(record.runUid), record);
    }
  }

  #isDue(runUid: string): boolean {
    const { againAtMs = 0 } = this.#failures.get(runUid) ?? {};
    return againAtMs <= this.#deps.clock.monotonicMs() && !this.#underWay.has(runUid);
  }

  /** Nothing is given up that was not tried: the others may have taken all the time of a day. */
  async #settle(run: BulkExportRun | undefined, record: ExportProgressRecord): Promise<void> {
    const { clock, log, traceStore } = this.#deps;
    const isTooOld = clock.now().getTime() - record.updatedAt.getTime() > GIVEN_UP_AFTER_MS;
    if (run && ((await this.#clear(run, record, true)) || !isTooOld || this.#isStopped)) return;
    log.warn(
      { run: run?.metadata.name, key: record.intent?.key },
      'gave up clearing the unfinished file of an ended run; its upload may remain in the bucket',
    );
    await traceStore.exportProgress.settle(record.runUid);
    this.#failures.delete(record.runUid);
    if (run) await this.#removeSecret(run);
  }

  /**
   * Settings of the last attempt, as long as its Secret exists: the destination may be deleted or changed by
   * now.
   */
  async #settingsOf(run: BulkExportRun): Promise<ReturnType<typeof storeSettings>> {
    const { allowPrivateEndpoints, workspaces } = this.#deps;
    const { namespace = '' } = run.metadata;
    const { config, credentialsSecretName: name } = run.spec.destination;
    if (name === undefined) {
      const problem = environmentProblem(workspaceOf(workspaces, namespace));
      if (problem !== undefined) throw new Error(problem);
    }
    const credentials = name === undefined ? undefined : await this.#credentialsOf(run, name);
    return { ...storeSettings(config, credentials, run.spec.tenantId), ...STORE, allowPrivateEndpoints };
  }

  async #credentialsOf(run: BulkExportRun, name: string): Promise<CredentialData> {
    const { client } = this.#deps;
    const { namespace = '' } = run.metadata;
    const ofAttempt = await client.find(SECRETS, this.#secretKey(run));
    const secret = ofAttempt ?? (await client.find(SECRETS, { namespace, name }));
    if (secret?.data) return secret.data;
    throw new Error(`Secret ${name} does not exist, and that of the last attempt neither`);
  }

  #secretKey(run: BulkExportRun): { readonly namespace: string; readonly name: string } {
    const name = exportJobName(run.metadata.uid ?? '', run.status?.attempt ?? 0);
    return { namespace: this.#deps.systemNamespace, name };
  }

  async #removeSecret(run: BulkExportRun): Promise<void> {
    await this.#deps.client.delete(SECRETS, this.#secretKey(run));
  }

  #postpone(runUid: string): Failures {
    const former = this.#failures.get(runUid)?.pauseMs ?? 0;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * former));
    const failures = { pauseMs, againAtMs: this.#deps.clock.monotonicMs() + pauseMs };
    this.#failures.set(runUid, failures);
    return failures;
  }
}
