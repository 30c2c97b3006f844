import { errorText } from '#lib/errors';
import type { Stoppable } from '#lib/lifecycle';
import type { Log } from '#lib/reconcile';
import { FIELD_MANAGER, keyText, type Lease, LEASES, type ObjectKey } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { isAlreadyExists, isConflict, isForbidden } from '../client/kube-api-error.js';
import { KubeClient } from '../client/kube-client.js';
import type { KubeConnection } from '../connection/kube-connection.js';

/** RFC 3339 with microseconds, as leases carry it. */
export function microTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}

/**
 * Facts that a candidate knows when it looks at the lease. Times are of its own monotonic clock, so skewed
 * clocks do not matter.
 */
export interface LeaseView {
  readonly lease: Lease | undefined;
  readonly identity: string;
  readonly nowMs: number;
  /** Time at which this candidate first saw the lease in its present version. */
  readonly seenAtMs: number;
  /** Time of its previous look. */
  readonly lookedAtMs: number;
  /** Used when the lease does not say for how long it is taken. */
  readonly leaseDurationMs: number;
}

/**
 * - `create`: there is no lease
 * - `renew`: it is ours, perhaps from an earlier life of the same holder
 * - `take`: it has no holder, or its holder did not renew it for a whole lease
 * - `wait`: another candidate holds it
 * - `judge-later`: another candidate holds it, and this one slept for longer than a lease: the holder may have, too
 */
export type LeaseDecision = 'create' | 'renew' | 'take' | 'wait' | 'judge-later';

export function decideLease(view: LeaseView): LeaseDecision {
  const spec = view.lease?.spec;
  if (!view.lease) return 'create';
  if (!spec?.holderIdentity) return 'take';
  if (spec.holderIdentity === view.identity) return 'renew';
  const durationMs = spec.leaseDurationSeconds ? spec.leaseDurationSeconds * 1000 : view.leaseDurationMs;
  if (view.nowMs - view.lookedAtMs > durationMs) return 'judge-later';
  return view.nowMs - view.seenAtMs > durationMs ? 'take' : 'wait';
}

export interface LeaderElectorOptions {
  /** The elector makes a client of its own from it: renewals must not wait behind a busy queue's requests. */
  readonly connection: KubeConnection;
  /** Namespace and name of the Lease. */
  readonly lease: Required<ObjectKey>;
  /** Names this candidate. The same identity takes its own lease over at once, so two living candidates must never share one. */
  readonly identity: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** Time for which others wait for a silent leader. Default 15 s. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long, awake, gives up. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Time between two renewals. Default 3 s: three tries before the deadline, and an idle cluster is asked seldom. */
  readonly retryMs?: number;
  /** Leadership is lost, not given back: stop the work; programs usually end and start again. */
  readonly onLost?: (why: string) => void;
}

/**
 * One leader among several candidates, by a Lease.
 *
 * - **candidate**: looks every `retryMs` while another holds the lease; takes the lease when it has no holder, when it is its
 *   own from an earlier life, or when its holder was silent for a whole lease while this candidate was awake
 * - **leader**: renews every `retryMs`. Time asleep (stopped process, closed lid) does not count against it: on waking it
 *   renews first, and only a lease that another candidate took ends its lead
 * - **lost**: another candidate took the lease, or it could not be renewed; final
 *
 * No election is a fence: writes must carry preconditions of their own.
 */
export class LeaderElector implements Stoppable {
  readonly name = 'leader-elector';
  readonly #clock: Clock;
  readonly #client: KubeClient;
  readonly #leaseDurationMs: number;
  readonly #retryMs: number;
  readonly #abort = new AbortController();
  readonly #acquired = Promise.withResolvers<void>();
  #state: 'candidate' | 'leader' | 'lost' = 'candidate';
  #lease: Lease | undefined;
  #seenAtMs: number;
  #lookedAtMs: number;
  #awakeWithoutRenewalMs = 0;
  /** Up to when the time without renewal is counted. */
  #countedAtMs: number;
  #running: Promise<void> | undefined;

  constructor(private readonly options: LeaderElectorOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#retryMs = options.retryMs ?? 3_000;
    this.#client = new KubeClient(options.connection, {
      fieldManager: FIELD_MANAGER.leader,
      timeoutMs: Math.max(1_000, (options.renewDeadlineMs ?? 10_000) / 2),
    });
    this.#seenAtMs = this.#clock.monotonicMs();
    this.#lookedAtMs = this.#seenAtMs;
    this.#countedAtMs = this.#seenAtMs;
    this.#acquired.promise.catch(() => undefined);
  }

  get isLeader(): boolean {
    return this.#state === 'leader';
  }

  /** The holder of the lease when this candidate last read it; undefined when it had none. */
  get holder(): string | undefined {
    return this.#lease?.spec?.holderIdentity || undefined;
  }

  /** Begins to take part in the election. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when this candidate leads; rejects when it is stopped before. */
  acquired(): Promise<void> {
    return this.#acquired.promise;
  }

  /** Stops standing, and gives the lease back so that the next leader need not wait. Stop the work first. */
  async stop(): Promise<void> {
    const wasLeader = this.isLeader;
    this.#abort.abort(new Error('the candidate is stopping'));
    this.#acquired.reject(this.#abort.signal.reason as Error);
    await this.#running;
    if (wasLeader) await this.#release();
    await this.#client.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted && this.#state !== 'lost') {
      const before = this.#lease;
      try {
        await this.#look();
      } catch (error) {
        if (signal.aborted) return;
        const fields = { lease: keyText(this.options.lease), problem: errorText(error) };
        if (isConflict(error) || isAlreadyExists(error))
          this.options.log.debug(fields, 'another candidate was faster');
        else if (isForbidden(error) && this.#lease === undefined)
          this.options.log.warn(
            fields,
            'the lease does not exist and this account may not create it; waiting for it',
          );
        else this.options.log.warn(fields, 'reading the lease failed');
      }
      this.#lookedAtMs = this.#clock.monotonicMs();
      this.#countAwake();
      // a leader that has just read that it still holds the lease renews it next, however long the read took
      const hasSeenLease = this.#lease !== before;
      if (!hasSeenLease && this.#awakeWithoutRenewalMs > (this.options.renewDeadlineMs ?? 10_000))
        this.#lose('the lease could not be renewed');
      // a free lease that another candidate was about to take is looked at sooner; a candidate that only waits asks as
      // seldom as a leader
      const pauseMs = this.isLeader || this.holder !== undefined ? this.#retryMs : this.#retryMs * 0.4;
      await this.#clock.sleep(pauseMs * (1 + 0.1 * Math.random()), signal).catch(() => undefined);
      this.#countAwake();
    }
  }

  /** Counts looks and the pauses between them: a request may hang for long. A gap longer than a lease is sleep, not failure. */
  #countAwake(): void {
    const nowMs = this.#clock.monotonicMs();
    const gapMs = nowMs - this.#countedAtMs;
    this.#countedAtMs = nowMs;
    if (this.isLeader && gapMs < this.#leaseDurationMs) this.#awakeWithoutRenewalMs += gapMs;
  }

  async #look(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const { signal } = this.#abort;
    // a leader renews what it wrote last without reading it first: a conflict shows that another candidate wrote in between
    const lease = this.isLeader
      ? this.#lease
      : await this.#client.find(LEASES, this.options.lease, { signal });
    if (lease?.metadata.resourceVersion !== this.#lease?.metadata.resourceVersion) this.#seenAtMs = startedMs;
    this.#lease = lease;
    const decision = decideLease({
      lease,
      identity: this.options.identity,
      nowMs: startedMs,
      seenAtMs: this.#seenAtMs,
      lookedAtMs: this.#lookedAtMs,
      leaseDurationMs: this.#leaseDurationMs,
    });
    switch (decision) {
      case 'create':
      case 'take':
      case 'renew':
        return await this.#write(lease);
      case 'judge-later':
        this.#seenAtMs = startedMs;
        return;
      case 'wait':
        return;
      default:
        decision satisfies never;
    }
  }

  async #write(before: Lease | undefined): Promise<void> {
    const { lease: key, identity } = this.options;
    const startedMs = this.#clock.monotonicMs();
    const now = microTime(this.#clock.now());
    const isOurs = before?.spec?.holderIdentity === identity;
    const transitions = before?.spec?.leaseTransitions ?? 0;
    const draft = {
      metadata: { ...before?.metadata, ...key },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.max(1, Math.ceil(this.#leaseDurationMs / 1000)),
        acquireTime: isOurs ? (before.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: before && !isOurs ? transitions + 1 : transitions,
      },
    };
    try {
      this.#lease = before
        ? await this.#client.replace(LEASES, draft)
        : await this.#client.create(LEASES, draft);
    } catch (error) {
      if (this.isLeader && isConflict(error)) return await this.#reconsider();
      throw error;
    }
    // others count from when they see it, which is later than this
    this.#awakeWithoutRenewalMs = 0;
    this.#countedAtMs = startedMs;
    if (this.#state !== 'candidate') return;
    this.#state = 'leader';
    this.options.log.info({ lease: keyText(key), identity }, 'leading');
    this.#acquired.resolve();
  }

  /** The lease changed under the leader: only another holder ends its time, any other writer does not. */
  async #reconsider(): Promise<void> {
    const lease = await this.#client.find(LEASES, this.options.lease, { signal: this.#abort.signal });
    const holder = lease?.spec?.holderIdentity;
    if (holder && holder !== this.options.identity) return this.#lose(`${holder} took the lease`);
    this.#lease = lease;
  }

  #lose(why: string): void {
    if (!this.isLeader) return;
    this.#state = 'lost';
    this.options.log.warn({ lease: keyText(this.options.lease), why }, 'no longer leading');
    this.options.onLost?.(why);
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    if (!lease || this.#state !== 'leader') return;
    this.#state = 'lost';
    try {
      await this.#client.replace(LEASES, {
        metadata: lease.metadata,
        spec: {
          ...lease.spec,
          holderIdentity: '',
          leaseDurationSeconds: 1,
          renewTime: microTime(this.#clock.now()),
        },
      });
    } catch (error) {
      this.options.log.debug({ problem: errorText(error) }, 'the lease could not be given back');
    }
  }
}
