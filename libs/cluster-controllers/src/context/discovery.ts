import {
  type DiscoveredResource,
  discoverResources,
  type EventRecorder,
  type Informers,
  type KubeClient,
} from '#lib/kube';
import type { Log } from '#lib/reconcile';
import type { Clock } from '#lib/time';

/** Dependencies of every controller of the cluster. */
export interface ClusterContext {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
}

const KEPT_MS = 60_000;

/** The kinds that the API server serves, asked at most once a minute, or after `forget`. */
export class Discovery {
  #known: { readonly resources: Promise<readonly DiscoveredResource[]>; readonly atMs: number } | undefined;

  constructor(
    private readonly client: KubeClient,
    private readonly clock: Clock,
  ) {}

  resources(): Promise<readonly DiscoveredResource[]> {
    const nowMs = this.clock.monotonicMs();
    if (this.#known && nowMs - this.#known.atMs < KEPT_MS) return this.#known.resources;
    const resources = discoverResources(this.client);
    this.#known = { resources, atMs: nowMs };
    resources.catch(() => this.forget());
    return resources;
  }

  /** A kind came or went. */
  forget(): void {
    this.#known = undefined;
  }
}
