import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { AppSettings } from '#lib/graph-configuration';
import type { AuthUser } from '../authorization/auth-user.js';
import { Seat } from '../hosting/seat.js';
import {
  type AppProcess,
  isForApp,
  MOST_REQUESTS,
  needsCaller,
  type OwnRoute,
  PASS_HEADER,
} from './control.js';
import type { OwnCall } from '../webhook/webhook-policy.js';
import { answerFor, forward, type ForwardedRequest, type ForwardLimits, postToApp } from './forward.js';

/** A process that was not heard of for so long gets no further request. */
const SILENT_MS = 5_000;

/** Sender of a request that the app left to the server. */
export interface Passed {
  /** Request of the client. */
  readonly raw: IncomingMessage;
  /** Address of the client. */
  readonly address: string | undefined;
  /** The caller, when it was authenticated before the app. */
  readonly caller: AuthUser | undefined;
  /** Authenticates it once more, by the credentials of the client: the app may have left them out. */
  readonly again: () => Promise<AuthUser | undefined>;
}

/** A request at the app. */
interface Handed {
  readonly passed: Passed;
  /** Gives its place to another. */
  readonly free: () => void;
}

export interface AppFrontParts {
  /** Starts a process that loads the app. */
  readonly make: () => AppProcess;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: AppSettings;
  readonly limits: ForwardLimits;
}

/** The agent's HTTP app as the server sees it: which requests are for it, and its answers to them. */
export class AppFront {
  readonly #seat: Seat<AppProcess>;
  readonly #passed = new Map<string, Handed>();
  #atWork = 0;
  /** Paths from the first process that has loaded: the app of the others is the same. */
  #known: Pick<AppProcess, 'paths'> | undefined;

  /** Starts loading. */
  constructor(private readonly parts: AppFrontParts) {
    this.#seat = new Seat({
      ...parts,
      name: 'HTTP app',
      onReady: ({ paths }) => (this.#known ??= { paths }),
    });
  }

  /** @throws TerminalError `GraphLoadFailed` */
  async load(): Promise<void> {
    await this.#seat.firstLoad;
  }

  describeLoad(): string | undefined {
    return this.#seat.describeLoad();
  }

  /** Problem of the app while the server continues; undefined while all is well. */
  get note(): string | undefined {
    const { ready, trouble } = this.#seat;
    if (ready && ready.silentMs > SILENT_MS) return silenceOf(ready);
    return trouble;
  }

  async stop(): Promise<void> {
    await this.#seat.stop();
  }

  /** Returns true when a request is for the app first. @param url path and query */
  wants(url: string, own: OwnRoute): boolean {
    // a server that is ready has seen it load
    return isForApp(this.#known?.paths, url, own);
  }

  /** Returns true when a request that is for the app first must be authenticated before. */
  authenticatesFirst(own: OwnRoute): boolean {
    return needsCaller(this.parts.settings, own);
  }

  /** The request that comes back from the app, once; undefined for one of a client. */
  take(headers: IncomingHttpHeaders): Passed | undefined {
    const pass = headers[PASS_HEADER];
    if (typeof pass !== 'string') return undefined;
    const handed = this.#passed.get(pass);
    this.#passed.delete(pass);
    // a socket stays open long after the app has seen its request
    if (handed?.passed.raw.headers.upgrade !== undefined) handed.free();
    return handed?.passed;
  }

  /**
   * Posts on behalf of a caller, who is passed to the app when its routes authenticate. A path without a
   * route in the app is 404: nothing reaches the server's own routes.
   */
  async post(call: OwnCall, answerMs: number): Promise<number> {
    const { settings, clock } = this.parts;
    const process = this.#seat.ready;
    if (!process)
      throw new Error(`the agent's HTTP app is unavailable: ${this.#seat.trouble ?? 'it is starting'}`);
    const caller = settings.authenticatesRoutes ? call.caller : undefined;
    return postToApp(process, { ...call, caller }, answerMs, clock);
  }

  forward(asked: Omit<ForwardedRequest, 'pass'>, passed: Passed): void {
    const { limits, clock } = this.parts;
    const { response } = asked;
    const process = this.#seat.ready;
    if (!process)
      return answerFor(
        response,
        503,
        `The agent's HTTP app is unavailable: ${this.#seat.trouble ?? 'it is starting'}; retry`,
      );
    if (process.silentMs > SILENT_MS)
      return answerFor(response, 503, `Unavailable: ${silenceOf(process)}; retry`);
    if (this.#atWork >= MOST_REQUESTS)
      return answerFor(response, 503, `The agent's HTTP app has ${MOST_REQUESTS} requests at work; retry`);
    const pass = randomUUID();
    let isAtWork = true;
    const free = (): void => {
      if (isAtWork) this.#atWork -= 1;
      isAtWork = false;
    };
    this.#passed.set(pass, { passed, free });
    this.#atWork += 1;
    response.once('close', () => {
      this.#passed.delete(pass);
      free();
    });
    try {
      forward(process, { ...asked, pass }, limits, clock);
    } catch {
      answerFor(response, 502, "The request could not be handed to the agent's HTTP app; retry");
    }
  }
}

/**
 * Error text without the position of the hang, which is in the log only: callers get no lines of the agent.
 */
function silenceOf({ silentMs }: AppProcess): string {
  return `the agent's HTTP app has not answered for ${Math.floor(silentMs / 1000)} s; its log has where`;
}
