import { type Change, Informer, type KubeClient, Trouble } from '#lib/kube';
import { parseKey, type KubeObject } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Item, Items, Source, World } from './items.js';

/** Changes within this time become one frame: a screen need not be drawn more often. */
const GATHER_MS = 100;
const LOOK_MS = 3_000;
/** Kinds of one namespace that are followed at once: those looked at longest ago end first. */
const MOST_FOLLOWED = 24;

export interface KubeWorldOptions {
  readonly client: KubeClient;
  /** Lists of REST; each calls back when it has been read again. */
  readonly rest?: (source: Extract<Source, { kind: 'rest' }>, changed: () => void) => StoppableItems;
  /** Looked at now and then: trouble of the platform that no watch reports. */
  readonly findTrouble?: () => string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Items that cost something until they are stopped. */
export interface StoppableItems extends Items {
  stop(): Promise<void>;
}

/** Items of the API server, and how many are told of their changes. */
interface Followed extends StoppableItems {
  readonly isWatch: boolean;
  readonly readers: number;
}

/**
 * One informer for each kind and namespace, started when a view first asks for it. An informer that is not
 * used any more keeps running, so that coming back costs nothing, until there are `MOST_FOLLOWED`. A kind
 * that an account may not read is the trouble of that kind alone; when no kind can be followed, it is the
 * world's.
 */
export class KubeWorld implements World {
  readonly #options: KubeWorldOptions;
  readonly #clock: Clock;
  readonly #followed = new Map<string, Followed>();
  readonly #readers = new Set<() => void>();
  #revision = 0;
  #troubleSince: Date | undefined;
  #isGathering = false;
  #cancelLook: () => void = () => undefined;
  #ownTrouble: string | undefined;

  constructor(options: KubeWorldOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#ownTrouble = options.findTrouble?.();
    this.#look();
  }

  get revision(): number {
    return this.#revision;
  }

  /** Trouble that keeps every kind from being followed; undefined while any can be. */
  get problem(): string | undefined {
    const problems = [...this.#followed.values()].flatMap(({ isWatch, problem }) =>
      isWatch ? [problem] : [],
    );
    return problems.every((problem) => problem !== undefined) ? problems[0] : undefined;
  }

  get trouble(): string | undefined {
    const { problem } = this;
    if (problem === undefined) return this.#ownTrouble;
    const since = (this.#troubleSince ?? this.#clock.now()).toISOString().slice(11, 19);
    return `watch failed, showing the state of ${since} UTC: ${problem}`;
  }

  subscribe(changed: () => void): () => void {
    this.#readers.add(changed);
    return () => this.#readers.delete(changed);
  }

  itemsOf(source: Source, namespace: string | undefined): Items {
    const key =
      source.kind === 'rest'
        ? `${source.name} ${JSON.stringify(source.query ?? {})}`
        : `${source.ref.plural} ${namespace ?? ''}`;
    const found = this.#followed.get(key) ?? this.#follow(source, namespace);
    // the last one asked for comes last
    this.#followed.delete(key);
    this.#followed.set(key, found);
    this.#endUnread();
    return found;
  }

  /** Ends what was asked for longest ago and is told to nothing, until no more than `MOST_FOLLOWED` are left. */
  #endUnread(): void {
    for (const [key, items] of this.#followed) {
      if (this.#followed.size <= MOST_FOLLOWED) return;
      if (items.readers > 0) continue;
      this.#followed.delete(key);
      void items.stop();
    }
  }

  async stop(): Promise<void> {
    this.#cancelLook();
    await Promise.all([...this.#followed.values()].map((items) => items.stop()));
  }

  #follow(source: Source, namespace: string | undefined): Followed {
    const changed = (): void => this.#gather();
    if (source.kind === 'rest') return counted(this.#options.rest?.(source, changed) ?? noRest(), false);
    const { client, clock, log } = this.#options;
    const isWithin = namespace !== undefined && source.ref.namespaced;
    const selection = isWithin ? { namespace } : {};
    // reports an outage at once: no event comes while it lasts
    const trouble = new Trouble(log, changed);
    const informer = new Informer({ client, ref: source.ref, selection, clock, log, trouble });
    informer.on(changed);
    informer.start();
    informer.synced().then(changed, () => undefined);
    return counted(informerItems(informer, trouble), true);
  }

  #look(): void {
    this.#cancelLook = this.#clock.after(LOOK_MS, () => {
      const trouble = this.#options.findTrouble?.();
      if (trouble !== this.#ownTrouble) this.#gather();
      this.#ownTrouble = trouble;
      this.#look();
    });
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#clock.after(GATHER_MS, () => {
      this.#isGathering = false;
      const isTrouble = this.problem !== undefined;
      this.#troubleSince = isTrouble ? (this.#troubleSince ?? this.#clock.now()) : undefined;
      this.#revision++;
      for (const changed of this.#readers) changed();
    });
  }
}

/** Counts the handlers of items. */
function counted(items: StoppableItems, isWatch: boolean): Followed {
  let readers = 0;
  return {
    isWatch,
    get readers() {
      return readers;
    },
    get hasSynced() {
      return items.hasSynced;
    },
    get problem() {
      return items.problem;
    },
    list: () => items.list(),
    find: (key) => items.find(key),
    on: (handler) => {
      const end = items.on(handler);
      readers++;
      return () => {
        readers--;
        end();
      };
    },
    stop: () => items.stop(),
  };
}

function informerItems(informer: Informer<KubeObject>, trouble: Trouble): StoppableItems {
  return {
    get problem() {
      return trouble.problem;
    },
    get hasSynced() {
      return informer.hasSynced;
    },
    list: () => informer.list(),
    find: (key) => informer.find(parseKey(key)),
    on: (handler: (change: Change<Item>) => void) => informer.on(handler),
    stop: () => informer.stop(),
  };
}

function noRest(): StoppableItems {
  return {
    hasSynced: true,
    problem: 'no REST interface is known: start the dashboard with --data or --context',
    list: () => [],
    find: () => undefined,
    on: () => () => undefined,
    stop: () => Promise.resolve(),
  };
}
