import { HeldSockets } from '#lib/held-sockets';
import type { Pod } from '#lib/resources';
import { findStablePort, isPortFree } from '#lib/stable-port';

/** Gives pods real ports on 127.0.0.1 for their container ports; what was given once is not given to another. */
export class LoopbackPorts {
  readonly #given = new Map<number, string>();
  readonly #random: () => number;
  readonly sockets = new HeldSockets();

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** One real port for each TCP container port; those in `kept` stay unless another program has taken them meanwhile. */
  async ensure(pod: Pod, kept: Readonly<Record<string, number>>): Promise<Record<string, number>> {
    const owner = pod.metadata.uid ?? '';
    const ports: Record<string, number> = {};
    for (const containerPort of containerPorts(pod)) {
      const known = kept[containerPort];
      const port = known !== undefined && (await this.#isUsable(known)) ? known : await this.#findFree(owner);
      this.#given.set(port, owner);
      ports[containerPort] = port;
    }
    return ports;
  }

  /** Another real port for each of these that another program has taken; undefined when all are free. */
  async replaceTaken(
    pod: Pod,
    ports: Readonly<Record<string, number>>,
    containerPorts: readonly number[],
  ): Promise<Record<string, number> | undefined> {
    const replaced: Record<string, number> = {};
    for (const containerPort of containerPorts) {
      const known = ports[containerPort];
      if (known === undefined || (await this.#isUsable(known))) continue;
      replaced[containerPort] = await this.#findFree(pod.metadata.uid ?? '');
    }
    return Object.keys(replaced).length > 0 ? { ...ports, ...replaced } : undefined;
  }

  /** Whether the pod was given the port: what its annotation says may have been written by an editor of its namespace. */
  isOf(pod: Pod, port: number): boolean {
    return this.#given.get(port) === pod.metadata.uid;
  }

  release(pod: Pod): void {
    for (const [port, owner] of this.#given) {
      if (owner !== pod.metadata.uid) continue;
      this.#given.delete(port);
      this.sockets.release(port);
    }
  }

  /** Whether the pod can listen on it: held for the pod, or free. */
  async #isUsable(port: number): Promise<boolean> {
    return this.sockets.has(port) || (await isPortFree(port));
  }

  #findFree(owner: string): Promise<number> {
    return findStablePort((port) => {
      if (this.#given.has(port)) return false;
      this.#given.set(port, owner);
      return true;
    }, this.#random);
  }
}

function containerPorts(pod: Pod): number[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const ports = containers.flatMap((container) => container.ports ?? []);
  return [
    ...new Set(ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP').map((port) => port.containerPort)),
  ];
}
