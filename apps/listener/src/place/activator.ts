import { ConnectionRoom } from '#lib/http';
import { podAddressOf } from '#lib/manifests';
import { type Pod, type Service, sleepNoteOf } from '#lib/resources';
import { type Endpoint, ServiceListener, sleepOf } from '#lib/service-front';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** Connections for all deployments that sleep. */
const MAX_CONNECTIONS = 4_000;
/** Ports for deployments that sleep. Each is a port and a socket. */
const MAX_PORTS = 2_000;

/** Current state of the deployment behind one of the activator's ports. */
export interface Behind {
  /** Its Service. */
  readonly find: () => Service | undefined;
  /** Writes onto the Service that a request ends the sleep of this name. */
  readonly wake: (since: string) => Promise<void>;
  /** Its ready pods that answer requests. */
  readonly pods: () => readonly Pod[];
}

export interface ActivatorOptions {
  /** Address to listen on. */
  readonly host: string;
  /** Deployments that may sleep at a time; default 2,000. */
  readonly maxPorts?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Listening {
  readonly listener: ServiceListener;
  readonly port: number;
}

interface Opened {
  readonly behind: Behind;
  readonly listening: Promise<Listening>;
  /** Time of the last request for its port, which every pass over a deployment that sleeps makes. */
  readonly askedAtMs: number;
}

/**
 * Time for which the port of a deployment that was awake at the last look stays open: its note may be in
 * flight.
 */
const KEPT_MS = 60_000;

/**
 * Proxy in front of the Service of a deployment that sleeps, on a cluster: the Service leads to a port of
 * this program meanwhile. It holds requests, asks for the wake, and passes them on once the pods are ready.
 * Each deployment has a port, which identifies the target of a request, whatever its Host header is. A port
 * stays open after the wake, since connections arrive for a while after the Service leads to the pods again;
 * where all are taken, that of a deployment that has been awake for a minute is closed.
 */
export class Activator {
  readonly #options: ActivatorOptions;
  readonly #room: ConnectionRoom;
  /** Open ports, least recently requested first. */
  readonly #ports = new Map<string, Opened>();

  constructor(options: ActivatorOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#room = new ConnectionRoom({
      clock,
      most: MAX_CONNECTIONS,
      onFull: (report) =>
        log.warn(report, 'cut connections to deployments that sleep: as many are open as may be'),
    });
  }

  /** The port that holds requests to the deployment `namespace/name`. */
  async portOf(name: string, behind: Behind): Promise<number> {
    if (!this.#ports.has(name)) await this.#makeRoom(name);
    const listening = this.#ports.get(name)?.listening ?? this.#listen(name, behind);
    this.#ports.delete(name);
    this.#ports.set(name, { behind, listening, askedAtMs: this.#options.clock.monotonicMs() });
    try {
      return (await listening).port;
    } catch (error) {
      this.#ports.delete(name);
      throw error;
    }
  }

  /** The deployment does not exist any longer. */
  async forget(name: string): Promise<void> {
    const opened = this.#ports.get(name);
    this.#ports.delete(name);
    await (await opened?.listening)?.listener.stop(true);
  }

  async stop(): Promise<void> {
    for (const name of [...this.#ports.keys()]) await this.forget(name);
  }

  /** @throws Error when as many deployments sleep as may */
  async #makeRoom(name: string): Promise<void> {
    const { clock, maxPorts = MAX_PORTS } = this.#options;
    if (this.#ports.size < maxPorts) return;
    const beforeMs = clock.monotonicMs() - KEPT_MS;
    const left = [...this.#ports].find(
      ([, { behind, askedAtMs }]) => askedAtMs < beforeMs && !isAsleep(behind),
    );
    if (!left)
      throw new Error(
        `holding requests to deployment ${name} failed: ${maxPorts} deployments of this listener sleep or did a moment ago, which are all that may`,
      );
    await this.forget(left[0]);
  }

  async #listen(name: string, { find, wake, pods }: Behind): Promise<Listening> {
    const { host, clock, log } = this.#options;
    const listener = new ServiceListener({
      serviceName: name,
      port: { name: 'http' },
      host,
      room: this.#room,
      clock,
      log,
      endpoints: () => pods().flatMap(endpointOf),
      sleep: sleepOf({ name, find, write: wake, log }),
    });
    return { listener, port: await listener.listen(0) };
  }
}

function isAsleep({ find }: Behind): boolean {
  const service = find();
  return service !== undefined && sleepNoteOf(service) !== undefined;
}

function endpointOf(pod: Pod): readonly Endpoint[] {
  const address = podAddressOf(pod, 'cluster-dns');
  if (address === undefined) return [];
  const { hostname, port } = new URL(address);
  return [{ pod: pod.metadata.name, host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }];
}
