import type { OutgoingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { LoadedApp } from './control.js';

/**
 * One request on its way to an app: the writable side is its body, the readable side the body of the answer.
 * Emits `response` with headers.
 */
export type AppExchange = Duplex & {
  /** Gives it up; the app hears that its client has left. */
  close(code?: number): void;
  /** Other than 0 once it broke. */
  readonly rstCode?: number | undefined;
};

/** A process that has an agent's HTTP app loaded, in any language. */
export interface AppProcess {
  readonly pid: number | undefined;
  readonly loaded: Promise<void>;
  /** Resolves with how it ended. */
  readonly ended: Promise<Error>;
  /** Error with which it ended; undefined while it runs. */
  readonly end: Error | undefined;
  /** Paths that may reach the app; see `LoadedApp`. */
  readonly paths: LoadedApp['paths'];
  /** Milliseconds since it was last heard of. */
  readonly silentMs: number;
  describeLoad(): string | undefined;
  /**
   * Sends a request.
   * @param headers with `:method` and `:path`
   * @param isWhole there is no body
   * @throws when the process has ended, or the headers are invalid
   */
  request(headers: OutgoingHttpHeaders, isWhole: boolean): AppExchange;
  kill(): void;
  leave(): Promise<void>;
}
