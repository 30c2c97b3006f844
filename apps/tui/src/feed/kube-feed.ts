import { Informer, type KubeClient, Trouble } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { KubeObject, ResourceRef } from '#lib/resources';
import { EMPTY, type Snapshot, type SnapshotFeed } from './snapshot.js';

const GROUP = { group: 'agentplane.dev', version: 'v1alpha1', namespaced: true } as const;
/** Changes within this time become one snapshot: a screen need not be drawn more often. */
const GATHER_MS = 100;

function refOf<T>(kind: string, plural: string): ResourceRef<KubeObject & T> {
  return { ...GROUP, kind, plural };
}

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
    // shared, so that an outage is told once, and told at once: nothing else comes while it lasts
    const trouble = new Trouble(log, () => this.#gather());
    this.#trouble = trouble;
    const informerOf = <T>(kind: string, plural: string): Informer<KubeObject & T> =>
      new Informer({
        client,
        ref: refOf<T>(kind, plural),
        selection: namespace === undefined ? {} : { namespace },
        clock,
        log,
        trouble,
      });
    this.#deployments = informerOf<Snapshot['deployments'][number]>('AgentDeployment', 'agentdeployments');
    this.#revisions = informerOf<Snapshot['revisions'][number]>('AgentRevision', 'agentrevisions');
    this.#exports = informerOf<Snapshot['exports'][number]>('BulkExport', 'bulkexports');
    this.#exportRuns = informerOf<Snapshot['exportRuns'][number]>('BulkExportRun', 'bulkexportruns');
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
    const informers = this.#informers();
    for (const informer of informers) {
      informer.on(() => this.#gather());
      informer.start();
    }
    await Promise.all(informers.map((informer) => informer.synced()));
    this.#take();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.stop()));
  }

  #informers(): readonly Informer<KubeObject>[] {
    return [
      this.#deployments,
      this.#revisions,
      this.#exports,
      this.#exportRuns,
    ] as unknown as Informer<KubeObject>[];
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
        : { trouble: `No connection since ${since} UTC, and this is how it was then: ${problem}` }),
    };
    for (const changed of this.#readers) changed();
  }
}
