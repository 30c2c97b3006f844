import type { Probe } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { SleepWatch } from '../context/sleep-watch.js';
import type { ProbeTarget } from './check.js';
import { Prober } from './prober.js';

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
  readonly #options: ContainerProbesOptions;
  readonly #running: Prober[] = [];
  #isStarted = false;
  #isReady = false;
  #isStopped = false;

  constructor(options: ContainerProbesOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  start(): void {
    const { startupProbe } = this.#options.target.container;
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
    const { livenessProbe, readinessProbe } = this.#options.target.container;
    this.#isStarted = true;
    this.#isReady = !readinessProbe;
    this.#options.onChange();
    if (livenessProbe)
      this.#begin(livenessProbe, false, (isGood, found) => {
        if (!isGood) this.#unhealthy('Liveness', livenessProbe, found);
      });
    if (readinessProbe)
      this.#begin(readinessProbe, true, (isGood, found) => {
        if (!isGood && this.#isReady) this.#options.onProblem('Readiness', found);
        this.#isReady = isGood;
        this.#options.onChange();
      });
  }

  #unhealthy(kind: 'Startup' | 'Liveness', probe: Probe, found: string): void {
    this.stop();
    this.#options.onProblem(kind, found);
    this.#options.onUnhealthy(kind, probe);
  }

  #begin(probe: Probe, isEager: boolean, onVerdict: (isGood: boolean, found: string) => void): Prober {
    const { target, clock, sleepWatch } = this.#options;
    const guarded = (isGood: boolean, found: string): void => {
      if (!this.#isStopped) onVerdict(isGood, found);
    };
    const prober = new Prober({ probe, target, clock, sleepWatch, isEager, onVerdict: guarded });
    this.#running.push(prober);
    prober.start();
    return prober;
  }
}
