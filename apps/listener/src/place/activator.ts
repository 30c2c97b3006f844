import { errorText } from '#lib/errors';
import { ConnectionRoom } from '#lib/http';
import { podAddressOf } from '#lib/manifests';
import type { Pod, SleepNote } from '#lib/resources';
import { type Endpoint, ServiceListener } from '#lib/service-front';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** Of all deployments that sleep. */
const MAX_CONNECTIONS = 4_000;
/** Each is a port and a socket. */
const MAX_PORTS = 2_000;

/** What the activator knows of the deployment behind one of its ports, at this moment. */
export interface Behind {
  readonly note: () => SleepNote | undefined;
  readonly wake: (note: SleepNote) => Promise<void>;
  /** Its ready pods that answer requests. */
  readonly pods: () => readonly Pod[];
}

export interface ActivatorOptions {
  /** Address to listen on. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * What stands in front of the Service of a deployment that sleeps, on a cluster: a port of this program, which the Service
 * leads to meanwhile. It holds requests, asks for the wake, and passes them on once the pods are ready. A port for each
 * deployment says whom a request is for, whatever its Host header is. A port is kept once it is open: connections
 * arrive for a while after the Service leads to the pods again.
 */
export class Activator {
  readonly #options: ActivatorOptions;
  readonly #room: ConnectionRoom;
  readonly #ports = new Map<string, Promise<{ readonly listener: ServiceListener; readonly port: number }>>();

  constructor(options: ActivatorOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#room = new ConnectionRoom({
      ...{ clock, most: MAX_CONNECTIONS },
      onFull: (report) =>
        log.warn(report, 'cut connections to deployments that sleep: as many are open as may be'),
    });
  }

  /** The port that holds requests to the deployment `namespace/name`. */
  async portOf(name: string, behind: Behind): Promise<number> {
    const opened = this.#ports.get(name) ?? this.#open(name, behind);
    this.#ports.set(name, opened);
    try {
      return (await opened).port;
    } catch (error) {
      this.#ports.delete(name);
      throw error;
    }
  }

  /** The deployment does not exist any longer. */
  async forget(name: string): Promise<void> {
    const opened = this.#ports.get(name);
    this.#ports.delete(name);
    await (await opened)?.listener.stop(true);
  }

  async stop(): Promise<void> {
    for (const name of [...this.#ports.keys()]) await this.forget(name);
  }

  async #open(
    name: string,
    { note, wake, pods }: Behind,
  ): Promise<{ listener: ServiceListener; port: number }> {
    if (this.#ports.size >= MAX_PORTS)
      throw new Error(
        `holding requests to deployment ${name} failed: ${MAX_PORTS} deployments sleep already`,
      );
    const { host, clock, log } = this.#options;
    const listener = new ServiceListener({
      ...{ serviceName: name, port: { name: 'http' }, host, room: this.#room, clock, log },
      endpoints: () => pods().flatMap(endpointOf),
      sleep: {
        note,
        wake: async (asked) => {
          try {
            await wake(asked);
          } catch (error) {
            log.warn({ service: name, error: errorText(error) }, 'asking for the wake of a Service failed');
          }
        },
      },
    });
    return { listener, port: await listener.listen(0) };
  }
}

function endpointOf(pod: Pod): readonly Endpoint[] {
  const address = podAddressOf(pod, 'cluster-dns');
  if (address === undefined) return [];
  const { hostname, port } = new URL(address);
  return [{ pod: pod.metadata.name, host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }];
}
