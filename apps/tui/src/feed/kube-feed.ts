import { Informer, type KubeClient, Trouble } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type KubeObject, type ResourceRef, RESOURCES } from '#lib/resources';
import { EMPTY, type Snapshot, type SnapshotFeed } from './snapshot.js';

/** Changes within this time become one snapshot: a screen need not be drawn more often. */
const GATHER_MS = 100;
const LOOK_MS = 3_000;

export interface KubeFeedOptions {
  readonly client: KubeClient;
  /** Undefined: every namespace that the user may read. */
  readonly namespace: string | undefined;
  /** Looked at now and then: trouble of the platform that no watch reports. */
  readonly findTrouble?: () => string | undefined;
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
  readonly #findTrouble: () => string | undefined;
  readonly #namespace: string | undefined;
  readonly #readers = new Set<() => void>();
  readonly #trouble: Trouble;
  #troubleSince: Date | undefined;
  #current: Snapshot = EMPTY;
  #isGathering = false;
  #cancelLook: () => void = () => undefined;

  constructor({ client, namespace, findTrouble = () => undefined, clock, log }: KubeFeedOptions) {
    this.#clock = clock;
    this.#findTrouble = findTrouble;
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
    this.#look();
  }

  async stop(): Promise<void> {
    this.#cancelLook();
    const informers = [this.#deployments, this.#revisions, this.#exports, this.#exportRuns];
    await Promise.all(informers.map((informer) => informer.stop()));
  }

  /** Begins to watch one kind; resolves when its first list is complete. */
  #follow<T extends KubeObject>(informer: Informer<T>): Promise<void> {
    informer.on(() => this.#gather());
    informer.start();
    return informer.synced();
  }

  #look(): void {
    this.#cancelLook = this.#clock.after(LOOK_MS, () => {
      if (this.#trouble.problem === undefined && this.#current.trouble !== this.#findTrouble())
        this.#gather();
      this.#look();
    });
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
    const trouble =
      problem === undefined
        ? this.#findTrouble()
        : `watch failed, showing the state of ${since} UTC: ${problem}`;
    this.#current = {
      deployments: this.#deployments.list(this.#namespace),
      revisions: this.#revisions.list(this.#namespace),
      exports: this.#exports.list(this.#namespace),
      exportRuns: this.#exportRuns.list(this.#namespace),
      ...(trouble === undefined ? {} : { trouble }),
    };
    for (const changed of this.#readers) changed();
  }
}
