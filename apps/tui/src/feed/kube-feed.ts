import { Informer, type KubeClient, Trouble } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type KubeObject, type ResourceRef, RESOURCES } from '#lib/resources';
import { EMPTY, type Snapshot, type SnapshotFeed } from './snapshot.js';

/** Changes within this time become one snapshot: a screen need not be drawn more often. */
const GATHER_MS = 100;

export interface KubeFeedOptions {
  readonly client: KubeClient;
  /** Undefined: every namespace that the user may read. */
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Snapshots from watches of the four kinds that the dashboard shows. */
export class KubeFeed implements SnapshotFeed {
  readonly name = 'feed';
  readonly #deployments;
  readonly #revisions;
  readonly #exports;
  readonly #exportRuns;
  readonly #clock: Clock;
  readonly #namespace: string | undefined;
  readonly #readers = new Set<() => void>();
  readonly #trouble: Trouble;
  #troubleSince: Date | undefined;
  #current: Snapshot = EMPTY;
  #isGathering = false;

  constructor({ client, namespace, clock, log }: KubeFeedOptions) {
    this.#clock = clock;
    this.#namespace = namespace;
    // shared, so that an outage is reported once, and at once: no event comes while it lasts
    const trouble = new Trouble(log, () => this.#gather());
    this.#trouble = trouble;
    const informerOf = <T extends KubeObject>(ref: ResourceRef<T>): Informer<T> =>
      new Informer({
        client,
        ref,
        selection: namespace === undefined ? {} : { namespace },
        clock,
        log,
        trouble,
      });
    this.#deployments = informerOf(RESOURCES.AgentDeployment);
    this.#revisions = informerOf(RESOURCES.AgentRevision);
    this.#exports = informerOf(RESOURCES.BulkExport);
    this.#exportRuns = informerOf(RESOURCES.BulkExportRun);
  }

  /** What keeps the API server from being followed; undefined while it is. */
  get problem(): string | undefined {
    return this.#trouble.problem;
  }

  get current(): Snapshot {
    return this.#current;
  }

  subscribe(changed: () => void): () => void {
    this.#readers.add(changed);
    return () => this.#readers.delete(changed);
  }

  /** Begins to watch; resolves with the first complete snapshot. */
  async start(): Promise<void> {
    await Promise.all([
      this.#follow(this.#deployments),
      this.#follow(this.#revisions),
      this.#follow(this.#exports),
      this.#follow(this.#exportRuns),
    ]);
    this.#take();
  }

  async stop(): Promise<void> {
    const informers = [this.#deployments, this.#revisions, this.#exports, this.#exportRuns];
    await Promise.all(informers.map((informer) => informer.stop()));
  }

  /** Begins to watch one kind; resolves when its first list is complete. */
  #follow<T extends KubeObject>(informer: Informer<T>): Promise<void> {
    informer.on(() => this.#gather());
    informer.start();
    return informer.synced();
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#clock.after(GATHER_MS, () => {
      this.#isGathering = false;
      this.#take();
    });
  }

  #take(): void {
    const { problem } = this.#trouble;
    this.#troubleSince = problem === undefined ? undefined : (this.#troubleSince ?? this.#clock.now());
    const since = this.#troubleSince?.toISOString().slice(11, 19);
    this.#current = {
      deployments: this.#deployments.list(this.#namespace),
      revisions: this.#revisions.list(this.#namespace),
      exports: this.#exports.list(this.#namespace),
      exportRuns: this.#exportRuns.list(this.#namespace),
      ...(problem === undefined
        ? {}
        : { trouble: `watch failed, showing the state of ${since} UTC: ${problem}` }),
    };
    for (const changed of this.#readers) changed();
  }
}
