import type { Log } from '#lib/reconcile';
import { systemClock, type Clock } from '#lib/time';
import { keyText, type KubeObject, type ResourceRef } from '#lib/resources';
import type { KubeClient } from '../client/kube-client.js';
import type { Selection } from '../client/request-options.js';
import { Informer, type InformerOptions } from './informer.js';
import { Trouble } from './trouble.js';

export interface InformersOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Members used for all informers alike, whatever their kinds. */
type AnyInformer = Pick<
  Informer<KubeObject>,
  'ref' | 'start' | 'stop' | 'synced' | 'hasSynced' | 'silentForMs'
>;

/** The informers of a program: one for each kind and selection. */
export class Informers {
  readonly #informers = new Map<string, AnyInformer>();
  readonly #trouble: Trouble;
  #isStarted = false;

  constructor(private readonly options: InformersOptions) {
    this.#trouble = new Trouble(options.log);
  }

  /**
   * The informer of a kind, made on the first call; started at once when the others run already.
   * @param keep part of an object that its only reader needs
   */
  of<T extends KubeObject>(
    ref: ResourceRef<T>,
    selection: Selection = {},
    keep?: InformerOptions<T>['keep'],
  ): Informer<T> {
    const id = idOf(ref, selection);
    const known = this.#informers.get(id);
    // the reference is part of the id, so the objects are of its type
    if (known) return known as Informer<T>;
    const own = keep ? { keep } : {};
    const informer = new Informer<T>({ ...this.options, ...own, ref, selection, trouble: this.#trouble });
    this.#informers.set(id, informer);
    if (this.#isStarted) informer.start();
    return informer;
  }

  /** Ends one and forgets it: for kinds that no longer exist. */
  async drop(ref: ResourceRef, selection: Selection = {}): Promise<void> {
    const id = idOf(ref, selection);
    const informer = this.#informers.get(id);
    this.#informers.delete(id);
    await informer?.stop();
  }

  /** Starts all of them. */
  start(): void {
    this.#isStarted = true;
    for (const informer of this.#informers.values()) informer.start();
  }

  /** Resolves when every store is complete. Logs every 10 s which are not, because a missing right looks like silence. */
  async synced(): Promise<void> {
    const clock = this.options.clock ?? systemClock;
    const abort = new AbortController();
    const complain = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(10_000, abort.signal);
        this.options.log.warn(
          { resources: this.unsynced },
          'waiting for the first list; the program may lack the right to list',
        );
      }
    };
    complain().catch(() => undefined);
    try {
      await Promise.all([...this.#informers.values()].map((informer) => informer.synced()));
    } finally {
      abort.abort(new Error('all lists are complete'));
    }
  }

  /** The kinds whose stores are not complete yet, as `group/plural`. */
  get unsynced(): readonly string[] {
    const waiting = [...this.#informers.values()].filter(({ hasSynced }) => !hasSynced);
    const kinds = waiting.map(({ ref }) => keyText({ namespace: ref.group, name: ref.plural }));
    return [...new Set(kinds)];
  }

  /** The longest silence of any of them in milliseconds; for liveness probes. */
  get silentForMs(): number {
    return Math.max(0, ...[...this.#informers.values()].map(({ silentForMs }) => silentForMs));
  }

  /**
   * Reason why the API server cannot be followed at present; undefined while it can. The stores may be out of
   * date then.
   */
  get problem(): string | undefined {
    return this.#trouble.problem;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.stop()));
  }
}

function idOf(ref: ResourceRef, selection: Selection): string {
  const { namespace = null, labelSelector = '', fieldSelector = '', metadataOnly = false } = selection;
  return JSON.stringify([
    ref.group,
    ref.version,
    ref.plural,
    namespace,
    labelSelector,
    fieldSelector,
    metadataOnly,
  ]);
}
