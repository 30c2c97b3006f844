import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '#lib/time';
import { EndpointChoice } from './endpoint-choice.js';
import { forwardHttp, forwardUpgrade } from './forward-http.js';
import { SleepGate } from './sleep-gate.js';

/** The port of a Service, as a server in front of it reaches it; what holds requests and chooses pods is behind. */
export interface ServicePort {
  /** For messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Hands requests on to the ports of Services: headers as they came, bodies streamed both ways. */
export class ServiceWay {
  readonly #clock: Clock;
  readonly #gate: SleepGate;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#gate = new SleepGate({ note: () => undefined, wake: () => Promise.resolve(), clock });
  }

  request(incoming: IncomingMessage, response: ServerResponse, to: ServicePort): void {
    forwardHttp(incoming, response, this.#choice(to), this.#gate, to.name).catch(() => response.destroy());
  }

  upgrade(incoming: IncomingMessage, client: Duplex, head: Buffer, to: ServicePort): void {
    forwardUpgrade(incoming, client, head, this.#choice(to), this.#gate, to.name).catch(() =>
      client.destroy(),
    );
  }

  #choice({ name, host, port }: ServicePort): EndpointChoice {
    return new EndpointChoice(() => [{ pod: name, host, port }], this.#clock);
  }
}
