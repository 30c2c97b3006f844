import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { Clock } from '#lib/time';
import { EndpointChoice } from './endpoint-choice.js';
import { forwardHttp, forwardUpgrade, type ServiceBehind, type WrittenHeaders } from './forward-http.js';
import { SleepGate } from './sleep-gate.js';

/** The port of a Service, as a server in front of it reaches it; what holds requests and chooses pods is behind. */
export interface ServicePort {
  /** Name in messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Dependencies of a `ServiceWay`. */
export interface ServiceWayOptions {
  readonly clock: Clock;
  /** Finds the addresses of hosts that are names; Node's own where missing. */
  readonly lookup?: LookupFunction;
}

/** Choices that are kept; more ports than these share what waits for them no longer. */
const MAX_CHOICES = 4_096;

/** Hands requests on to the ports of Services: headers as they came, bodies streamed both ways. */
export class ServiceWay {
  readonly #clock: Clock;
  readonly #lookup: { readonly lookup?: LookupFunction };
  readonly #gate: SleepGate;
  /** Endpoint choices by address: all requests that wait for a port are counted together. */
  readonly #choices = new Map<string, EndpointChoice>();

  constructor({ clock, lookup }: ServiceWayOptions) {
    this.#clock = clock;
    this.#lookup = lookup ? { lookup } : {};
    this.#gate = new SleepGate({
      note: () => undefined,
      wake: () => Promise.resolve(),
      ready: () => [],
      clock,
    });
  }

  /** @param written headers in place of the client's */
  request(
    incoming: IncomingMessage,
    response: ServerResponse,
    to: ServicePort,
    written?: WrittenHeaders,
  ): void {
    forwardHttp(incoming, response, this.#behind(to, written)).catch(() => response.destroy());
  }

  /** @param response of `upgradeAnswer` */
  upgrade(
    incoming: IncomingMessage,
    response: ServerResponse,
    head: Buffer,
    to: ServicePort,
    written?: WrittenHeaders,
  ): void {
    forwardUpgrade(incoming, response, head, this.#behind(to, written)).catch(() => response.destroy());
  }

  #behind(to: ServicePort, written: WrittenHeaders = {}): ServiceBehind {
    return {
      endpoints: this.#choice(to),
      gate: this.#gate,
      clock: this.#clock,
      serviceName: to.name,
      written,
    };
  }

  #choice({ name, host, port }: ServicePort): EndpointChoice {
    const address = `${name} ${host}:${port}`;
    const known = this.#choices.get(address);
    if (known) return known;
    const made = new EndpointChoice(() => [{ pod: name, host, port, ...this.#lookup }], this.#clock);
    const [oldest] = this.#choices.keys();
    if (oldest !== undefined && this.#choices.size >= MAX_CHOICES) this.#choices.delete(oldest);
    this.#choices.set(address, made);
    return made;
  }
}
