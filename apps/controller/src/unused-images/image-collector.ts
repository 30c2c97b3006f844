import type { GivenContent, ImageStore } from '#lib/image-store';
import type { Informer, KubeClient } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import { type AgentDeployment, type AgentRevision, type Pod, PODS, RESOURCES } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** All that may name a content of the image store. */
export interface ImageUsers {
  readonly deployments: readonly AgentDeployment[];
  readonly revisions: readonly AgentRevision[];
  readonly pods: readonly Pod[];
}

/** The digests (`sha256:HEX`) of contents that something of a namespace runs, may run again, or asks for, by namespace. */
type NamedImages = ReadonlyMap<string, ReadonlySet<string>>;

/** Contents that are named by their digest; a reference without one names none. */
function namedImages({ deployments, revisions, pods }: ImageUsers): NamedImages {
  const references = [
    ...deployments.map(({ metadata, spec }) => [metadata, spec.sourceRevisionConfig.imageUri] as const),
    ...revisions.flatMap(({ metadata, spec, status }) =>
      [spec.imageUri, status?.image].map((image) => [metadata, image] as const),
    ),
    ...pods.flatMap(({ metadata, spec: { containers, initContainers = [] } }) =>
      [...containers, ...initContainers].map(({ image }) => [metadata, image] as const),
    ),
  ];
  const named = new Map<string, Set<string>>();
  for (const [{ namespace = '' }, reference] of references) {
    const [, digest] = /@(sha256:[0-9a-f]{64})$/.exec(reference ?? '') ?? [];
    if (digest === undefined) continue;
    const digests = named.get(namespace) ?? new Set();
    named.set(namespace, digests.add(digest));
  }
  return named;
}

/**
 * True when a name keeps a content. Content held by all is kept by any name, other content only by names in
 * its namespaces.
 * @param holders undefined for all
 */
function isNamed(named: NamedImages, digest: string, holders: readonly string[] | undefined): boolean {
  return [...(holders ?? named.keys())].some((namespace) => named.get(namespace)?.has(digest) === true);
}

type UsedStore = Pick<
  ImageStore,
  'holders' | 'listGiven' | 'listUnnamed' | 'removeContents' | 'removeUnusedPackages' | 'takeBack'
>;

/** Dependencies of the collector. */
export interface CollectorTools {
  /** Undefined without an image store: images come from registries. */
  readonly store: UsedStore | undefined;
  readonly client: Pick<KubeClient, 'list'>;
  readonly revisions: Pick<Informer<AgentRevision>, 'list'>;
  readonly deployments: Pick<Informer<AgentDeployment>, 'list'>;
  /** The uid of this cluster. */
  readonly cluster: () => string;
  readonly clock: Clock;
  readonly log: Logger;
}

const PERIOD_MS = 300_000;

/**
 * Removes contents of the image store that no name of the store, revision, deployment or pod names: results
 * of builds of revisions that are forgotten, and contents released by `image remove`. The result of a build
 * that several namespaces have is taken from each of them that names it no more. A content is removed once
 * two passes found it so: a cache may lag behind a revision that repeats another. Before that the API server
 * itself is asked.
 */
export class ImageCollector {
  /** Images that the last pass found unused: digests, and digests of a namespace. */
  #before: ReadonlySet<string> = new Set();
  #nextMs = 0;

  constructor(private readonly tools: CollectorTools) {}

  /** Asked at every change of a revision, and works every five minutes. */
  async reconcile(): Promise<Result> {
    const { clock, store } = this.tools;
    if (!store) return done();
    const earlyMs = this.#nextMs - clock.monotonicMs();
    if (earlyMs > 0) return after(earlyMs);
    await this.#removeContents(store);
    const folders = await store.removeUnusedPackages();
    if (folders > 0) this.tools.log.info({ folders }, 'removed packages that no image uses any more');
    this.#nextMs = clock.monotonicMs() + PERIOD_MS;
    return after(PERIOD_MS);
  }

  async #removeContents(store: UsedStore): Promise<void> {
    const { revisions, deployments, cluster, log } = this.tools;
    const uid = cluster();
    const holders = await store.holders();
    const [contents, given] = [await store.listUnnamed(uid), await store.listGiven(uid)];
    const unusedIn = (named: NamedImages) => ({
      contents: contents.filter((digest) => !isNamed(named, digest, holders.get(digest))),
      given: given.filter(({ digest, namespace }) => !isNamed(named, digest, [namespace])),
    });
    const cached = unusedIn(
      namedImages({ revisions: revisions.list(), deployments: deployments.list(), pods: [] }),
    );
    const before = this.#before;
    this.#before = new Set([...cached.contents, ...cached.given.map(keyOf)]);
    const isRipe = (key: string): boolean => before.has(key) && this.#before.has(key);
    if (![...this.#before].some(isRipe)) return;
    const now = unusedIn(await this.#namedNow());
    const removed = await store.removeContents(now.contents.filter(isRipe), uid);
    if (removed.length > 0) log.info({ images: removed }, 'removed images that nothing names any more');
    const taken = await store.takeBack(
      now.given.filter((one) => isRipe(keyOf(one))),
      uid,
    );
    if (taken.length > 0) log.info({ images: taken }, 'took images from namespaces that name them no more');
  }

  async #namedNow(): Promise<NamedImages> {
    const { client } = this.tools;
    const [deployments, revisions, pods] = await Promise.all([
      client.list(RESOURCES.AgentDeployment),
      client.list(RESOURCES.AgentRevision),
      client.list(PODS),
    ]);
    return namedImages({ deployments: deployments.items, revisions: revisions.items, pods: pods.items });
  }
}

function keyOf({ digest, namespace }: GivenContent): string {
  return `${namespace}/${digest}`;
}
