import { errorText } from '#lib/errors';
import type { KubeClient } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { RESOURCES } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

export interface HeartbeatOptions {
  readonly client: KubeClient;
  readonly listener: { readonly namespace: string; readonly name: string };
  readonly version: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Writes time and version into the Listener's status every `everyMs`. */
export class Heartbeat implements Stoppable {
  readonly name = 'heartbeat';
  #cancel: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** Misses in a row: an outage is logged once. */
  #missed = 0;

  constructor(private readonly options: HeartbeatOptions) {}

  start(): void {
    this.#running = this.#beat();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  async #beat(): Promise<void> {
    const { client, listener, version, everyMs, clock, log } = this.options;
    try {
      await client.applyStatus(RESOURCES.Listener, {
        metadata: listener,
        status: { lastHeartbeatTime: clock.now().toISOString(), version },
      });
      if (this.#missed > 0)
        log.info({ listener: listener.name, missed: this.#missed }, 'writing heartbeats recovered');
      this.#missed = 0;
    } catch (error) {
      const fields = { listener: listener.name, problem: errorText(error) };
      if (this.#missed++ === 0) log.warn(fields, 'writing the heartbeat failed, retrying');
    }
    if (this.#isStopped) return;
    // after the answer, so that a slow API server does not get two at a time
    this.#cancel = clock.after(everyMs, () => {
      this.#running = this.#beat();
    });
  }
}
