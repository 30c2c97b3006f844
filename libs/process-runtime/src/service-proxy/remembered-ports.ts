import { jsonEquals } from '#lib/json';
import { ANNOTATION, type Service } from '#lib/resources';
import type { Clock } from '#lib/time';
import { readJson, writeWhole } from '../pod-files/pod-files.js';

/** Port of a Service → port on loopback. */
export type RealPorts = Readonly<Record<string, number>>;

interface Remembered {
  /** Ports by uid: a later Service of the same name is another one. */
  readonly services: Readonly<Record<string, RealPorts>>;
}

/**
 * Ports of Services, in a file of the node. They are not kept in annotations: an editor of a Service could
 * name the port of another program there, and would receive its traffic when that program starts later than
 * the proxy.
 */
export class RememberedPorts {
  readonly #file: string;
  /** Services that are older than this may have a port that only their annotation knows. */
  readonly #unknownBefore: number;
  #services: Remembered['services'];

  constructor(file: string, clock: Clock) {
    this.#file = file;
    const read = readJson<Remembered>(file)?.services; // a power cut may leave an empty file
    this.#services = read ?? {};
    // times of creation are whole seconds
    this.#unknownBefore = read ? 0 : Math.floor(clock.now().getTime() / 1000) * 1000;
    if (!read) this.#write({});
  }

  of(service: Service): RealPorts {
    const { uid = '', creationTimestamp = '' } = service.metadata;
    const known = Object.hasOwn(this.#services, uid) ? this.#services[uid] : undefined;
    if (known) return known;
    return new Date(creationTimestamp).getTime() < this.#unknownBefore ? noted(service) : {};
  }

  /** @param existing Services that exist; the others are forgotten */
  keep(service: Service, ports: RealPorts, existing: readonly Service[]): void {
    const { uid = '' } = service.metadata;
    if (jsonEquals(this.#services[uid], ports)) return;
    const uids = new Set(existing.map(({ metadata }) => metadata.uid));
    const others = Object.entries(this.#services).filter(([uid]) => uids.has(uid));
    this.#write({ ...Object.fromEntries(others), [uid]: ports });
  }

  #write(services: Remembered['services']): void {
    writeWhole(this.#file, `${JSON.stringify({ services } satisfies Remembered, undefined, 2)}\n`);
    this.#services = services;
  }
}

/** Reads the annotation of nodes from before this file: one number, or JSON from port to real port. */
function noted(service: Service): RealPorts {
  const text = service.metadata.annotations?.[ANNOTATION.loopbackPort] ?? '';
  const [first] = service.spec.ports ?? [];
  if (/^\d+$/.test(text)) return first ? { [first.port]: Number(text) } : {};
  try {
    return JSON.parse(text) as RealPorts;
  } catch {
    return {};
  }
}
