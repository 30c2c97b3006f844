import { findStablePort, HeldSockets, isPortFree } from '#lib/held-sockets';
import type { Pod } from '#lib/resources';
import type { Clock } from '#lib/time';

/**
 * Limit per namespace, of 10,000 ports that can be kept, so that no namespace takes those of others: a pod
 * may name any number.
 */
const MAX_OF_NAMESPACE = 1_000;

/** A start under way comes first. */
const NEXT_MS = 1_000;
/** Ports that are held for the next pod: an agent's has two. */
const MAX_NEXT = 4;

interface Owner {
  readonly uid: string;
  readonly namespace: string;
}

/** Owner of the ports for the next pod. */
const NOBODY: Owner = { uid: 'the next pod', namespace: '' };

export interface PortsOptions {
  readonly random?: () => number;
  /** Ports of one namespace. */
  readonly most?: number;
  /** Holds ports for the next pod in good time, since that takes a process; without it none is held before it is asked for. */
  readonly clock?: Pick<Clock, 'after'>;
}

/**
 * Gives pods real ports on 127.0.0.1 for their container ports; what was given once is not given to another.
 * @throws Error when the pods of a namespace have as many as they may
 */
export class LoopbackPorts {
  readonly #given = new Map<number, Owner>();
  readonly #most: number;
  readonly #random: () => number;
  readonly #clock: PortsOptions['clock'];
  readonly #next: number[] = [];
  #cancelNext = (): void => undefined;
  readonly sockets = new HeldSockets();

  constructor({ random = Math.random, most = MAX_OF_NAMESPACE, clock }: PortsOptions = {}) {
    this.#random = random;
    this.#most = most;
    this.#clock = clock;
  }

  stop(): void {
    this.#cancelNext();
    this.sockets.releaseAll();
  }

  /** Ports that are held for the next pod. */
  get held(): readonly number[] {
    return this.#next;
  }

  /** One real port for each TCP container port; those in `kept` stay unless another program has taken them meanwhile. */
  async ensure(pod: Pod, kept: Readonly<Record<string, number>>): Promise<Record<string, number>> {
    const owner = ownerOf(pod);
    const ports: Record<string, number> = {};
    const wanted = containerPorts(pod);
    const others = this.#countOf(owner.namespace, owner.uid);
    if (wanted.length + others > this.#most)
      throw new Error(
        `giving pod ${pod.metadata.name} ports failed: ${wanted.length} asked for, ${others} of its namespace's ${this.#most} are in use; remove ports from its containers, or other pods`,
      );
    for (const containerPort of wanted) {
      const known = kept[containerPort];
      const port =
        known !== undefined && (await this.#isUsable(known))
          ? known
          : (this.#next.shift() ?? (await this.#findFree(owner)));
      this.#given.set(port, owner);
      ports[containerPort] = port;
    }
    this.#prepareNext(Math.min(wanted.length, MAX_NEXT));
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
      replaced[containerPort] = await this.#findFree(ownerOf(pod));
      // not the pod's any longer: a Service must not lead to the program that has it, and once free it is for others
      if (this.isOf(pod, known)) this.#free(known);
    }
    return Object.keys(replaced).length > 0 ? { ...ports, ...replaced } : undefined;
  }

  /** True when the pod was given the port: an editor of its namespace may have written its annotation. */
  isOf(pod: Pod, port: number): boolean {
    const owner = this.#given.get(port);
    return owner !== undefined && owner.uid === pod.metadata.uid;
  }

  release(pod: Pod): void {
    for (const [port, { uid }] of this.#given) if (uid === pod.metadata.uid) this.#free(port);
  }

  #free(port: number): void {
    this.#given.delete(port);
    this.sockets.release(port);
  }

  #countOf(namespace: string, except: string): number {
    let count = 0;
    for (const owner of this.#given.values())
      if (owner.namespace === namespace && owner.uid !== except) count++;
    return count;
  }

  /** True when the pod can listen on it: held for the pod, or free. */
  async #isUsable(port: number): Promise<boolean> {
    return this.sockets.has(port) || (await isPortFree(port));
  }

  /** Has as many ports held for the next pod as this one has. */
  #prepareNext(count: number): void {
    this.#cancelNext();
    if (this.#clock && count > 0)
      this.#cancelNext = this.#clock.after(NEXT_MS, () => void this.#holdNext(count).catch(() => undefined));
  }

  async #holdNext(count: number): Promise<void> {
    const ports: number[] = [];
    while (this.#next.length + ports.length < count) ports.push(await this.#findFree(NOBODY));
    try {
      await this.sockets.hold(ports.map((port) => ({ host: '127.0.0.1', port })));
    } finally {
      for (const port of ports)
        if (this.sockets.has(port) && this.#next.length < count) this.#next.push(port);
        else this.#free(port);
    }
  }

  #findFree(owner: Owner): Promise<number> {
    return findStablePort((port) => {
      if (this.#given.has(port)) return false;
      this.#given.set(port, owner);
      return true;
    }, this.#random);
  }
}

function ownerOf({ metadata: { uid = '', namespace = '' } }: Pod): Owner {
  return { uid, namespace };
}

function containerPorts(pod: Pod): number[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const ports = containers.flatMap((container) => container.ports ?? []);
  return [
    ...new Set(ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP').map((port) => port.containerPort)),
  ];
}
