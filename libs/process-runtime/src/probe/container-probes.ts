import type { Probe } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { SleepWatch } from '../context/sleep-watch.js';
import { check, type ProbeTarget } from './check.js';

export interface ProberOptions {
  readonly probe: Probe;
  readonly target: ProbeTarget;
  readonly clock: Clock;
  readonly sleepWatch: SleepWatch;
  /**
   * Looks soon and often until the first success, so that a program that is up in 200 ms counts as up in 200 ms. Failures
   * still count once a period. Not for liveness: it would only be a burden.
   */
  readonly isEager: boolean;
  /** The verdict changed; the text says what was found. */
  readonly onVerdict: (isGood: boolean, found: string) => void;
}

const FIRST_LOOK_MS = 20;
/** A program is found ready at most a tenth of its start later than it is; commands cost more to ask. */
const GROWTH = { request: 1.1, command: 1.4 } as const;

/**
 * Repeats one probe and gives a verdict after `successThreshold` successes or `failureThreshold` failures in a row. A look
 * that the machine slept through says nothing about the program, so it counts neither way and the row begins anew.
 */
class Prober {
  readonly #end = new AbortController();
  #goods = 0;
  #bads = 0;
  #verdict: boolean | undefined;

  constructor(private readonly options: ProberOptions) {}

  start(): void {
    void this.#run().catch(() => undefined); // rejects only when stopped
  }

  stop(): void {
    this.#end.abort(new Error('the probe was stopped'));
  }

  async #run(): Promise<void> {
    const { clock, probe, isEager, target, sleepWatch } = this.options;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    const timeoutMs = (probe.timeoutSeconds ?? 1) * 1000;
    await clock.sleep((probe.initialDelaySeconds ?? 0) * 1000, this.#end.signal);
    let pauseMs = Math.min(FIRST_LOOK_MS, periodMs);
    let countFromMs = clock.monotonicMs() + periodMs;
    for (;;) {
      const sleeps = sleepWatch.count;
      const problem = await check(probe, target, timeoutMs, this.#end.signal);
      if (this.#end.signal.aborted) return;
      const isEarly = isEager && this.#verdict !== true && clock.monotonicMs() < countFromMs;
      if (sleepWatch.count !== sleeps) this.#forget();
      else if (problem === undefined) this.#good();
      else if (!isEarly) {
        countFromMs = clock.monotonicMs() + periodMs;
        this.#bad(problem);
      }
      const isWaiting = isEager && this.#verdict !== true;
      pauseMs = isWaiting
        ? Math.min(pauseMs * GROWTH[probe.exec ? 'command' : 'request'], periodMs)
        : periodMs;
      await clock.sleep(pauseMs, this.#end.signal);
    }
  }

  #forget(): void {
    this.#goods = 0;
    this.#bads = 0;
  }

  #good(): void {
    this.#bads = 0;
    if (++this.#goods < (this.options.probe.successThreshold ?? 1) || this.#verdict === true) return;
    this.#verdict = true;
    this.options.onVerdict(true, '');
  }

  #bad(problem: string): void {
    this.#goods = 0;
    if (++this.#bads < (this.options.probe.failureThreshold ?? 3) || this.#verdict === false) return;
    this.#verdict = false;
    this.options.onVerdict(false, problem);
  }
}

export interface ContainerProbesOptions {
  readonly target: ProbeTarget;
  readonly clock: Clock;
  readonly sleepWatch: SleepWatch;
  readonly onChange: () => void;
  readonly onProblem: (probe: 'Startup' | 'Liveness' | 'Readiness', found: string) => void;
  /** The container must be ended and, by its pod's policy, started again. */
  readonly onUnhealthy: (kind: 'Startup' | 'Liveness', probe: Probe) => void;
}

/** The probes of one attempt at a container: startup first, then liveness and readiness side by side. */
export class ContainerProbes {
  readonly #running: Prober[] = [];
  #isStarted = false;
  #isReady = false;
  #isStopped = false;

  constructor(private readonly options: ContainerProbesOptions) {}

  get isStarted(): boolean {
    return this.#isStarted;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  start(): void {
    const { startupProbe } = this.options.target.container;
    if (!startupProbe) return this.#afterStartup();
    const prober = this.#begin(startupProbe, true, (isGood, found) => {
      prober.stop();
      if (isGood) this.#afterStartup();
      else this.#unhealthy('Startup', startupProbe, found);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#isReady = false;
    for (const prober of this.#running) prober.stop();
  }

  #afterStartup(): void {
    const { livenessProbe, readinessProbe } = this.options.target.container;
    this.#isStarted = true;
    this.#isReady = !readinessProbe;
    this.options.onChange();
    if (livenessProbe)
      this.#begin(livenessProbe, false, (isGood, found) => {
        if (!isGood) this.#unhealthy('Liveness', livenessProbe, found);
      });
    if (readinessProbe)
      this.#begin(readinessProbe, true, (isGood, found) => {
        if (!isGood && this.#isReady) this.options.onProblem('Readiness', found);
        this.#isReady = isGood;
        this.options.onChange();
      });
  }

  #unhealthy(kind: 'Startup' | 'Liveness', probe: Probe, found: string): void {
    this.stop();
    this.options.onProblem(kind, found);
    this.options.onUnhealthy(kind, probe);
  }

  #begin(probe: Probe, isEager: boolean, onVerdict: (isGood: boolean, found: string) => void): Prober {
    const { target, clock, sleepWatch } = this.options;
    const guarded = (isGood: boolean, found: string): void => {
      if (!this.#isStopped) onVerdict(isGood, found);
    };
    const prober = new Prober({ probe, target, clock, sleepWatch, isEager, onVerdict: guarded });
    this.#running.push(prober);
    prober.start();
    return prober;
  }
}
