import type { ServerResponse } from 'node:http';
import { cutSocket, type Cut, pathShape, takenBy } from '#lib/http';
import type { Clock } from '#lib/time';

export interface UnsentLimits {
  /** Unsent bytes of all answers together above which clients that take nothing are cut. */
  readonly softBytes: number;
  /** Above this, the client with the most unsent bytes is cut, though it may be reading. */
  readonly hardBytes: number;
  /** Interval between checks which clients read while too much is unsent. */
  readonly lookMs: number;
}

export interface UnsentOptions {
  readonly clock: Clock;
  readonly limits: UnsentLimits;
  /** Called once for each client that is cut. */
  readonly onCut: (cut: Cut) => void;
}

/** Looks without anything taken after which a client counts as one that does not read. */
const LOOKS_UNTIL_STALLED = 4;

/**
 * Unsent output in the memory of this process, over all answers: clients have not read it yet. The server's
 * limits cut a client that stalls after a time; this cuts it sooner when there are many, before they use up
 * the memory. Runs never wait for their readers.
 *
 * Output that several readers of one run share is counted for each of them though it is held once: the sum is
 * an upper bound.
 */
export class UnsentOutput {
  readonly #accounts = new Set<UnsentAnswer>();
  #bytes = 0;
  #cancelLook: (() => void) | undefined;

  constructor(private readonly options: UnsentOptions) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** The account of one answer; it ends with the answer. One that has closed already is owed nothing. */
  open(response: ServerResponse): UnsentAnswer {
    const account = new UnsentAnswer(response, (change) => this.#changed(change));
    // `close` is emitted once: a later listener would wait indefinitely
    if (response.closed) {
      account.clear();
      return account;
    }
    this.#accounts.add(account);
    response.once('close', () => {
      account.clear();
      this.#accounts.delete(account);
    });
    return account;
  }

  /** Cuts one client for another reason. */
  cut(account: UnsentAnswer, reason: string): void {
    const { request, socket } = account;
    this.#accounts.delete(account);
    account.clear();
    const path = pathShape(request.url ?? '');
    this.options.onCut({ kind: 'unread', reason, method: request.method ?? '', path });
    if (socket) cutSocket(socket);
    account.destroy();
  }

  #changed(change: number): void {
    this.#bytes += change;
    if (change <= 0) return;
    const { softBytes, hardBytes } = this.options.limits;
    if (this.#bytes > hardBytes) this.#relieve(hardBytes, 0);
    if (this.#bytes > softBytes) this.#lookSoon();
  }

  /** Checks by number of looks, not by time: after a pause of this process no client has stalled yet. */
  #lookSoon(): void {
    this.#cancelLook ??= this.options.clock.after(this.options.limits.lookMs, () => {
      this.#cancelLook = undefined;
      const { softBytes } = this.options.limits;
      for (const account of this.#accounts) account.look();
      this.#relieve(softBytes, LOOKS_UNTIL_STALLED);
      if (this.#bytes > softBytes) this.#lookSoon();
    });
  }

  /**
   * Cuts the client that is owed most for longest; never the only one, which may be given one answer of any
   * size.
   */
  #relieve(downTo: number, fromLooks: number): void {
    const owed = [...this.#accounts].filter(({ bytes }) => bytes > 0);
    const worst = owed
      .filter(({ looksWithoutProgress }) => looksWithoutProgress >= fromLooks)
      .sort((one, other) => other.weight - one.weight);
    for (const account of worst) {
      if (this.#bytes <= downTo || owed.length < 2) return;
      owed.pop();
      const own = account.bytes;
      this.cut(
        account,
        `${this.#bytes} bytes wait for clients that do not read, ${own} of them for this one`,
      );
    }
  }
}

/** Unsent output of one client. */
export class UnsentAnswer {
  #bytes = 0;
  #isClosed = false;
  #taken: number | undefined;
  #looks = 0;

  constructor(
    private readonly response: ServerResponse,
    private readonly changed: (change: number) => void,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  get looksWithoutProgress(): number {
    return this.#looks;
  }

  get weight(): number {
    return this.#bytes * (this.#looks + 1);
  }

  get request(): ServerResponse['req'] {
    return this.response.req;
  }

  get socket(): ServerResponse['socket'] {
    return this.response.socket;
  }

  owe(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes += bytes;
    this.changed(bytes);
  }

  paid(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes -= bytes;
    this.changed(-bytes);
  }

  look(): void {
    const { socket } = this.response;
    const taken = socket && this.#bytes > 0 ? takenBy(socket) : undefined;
    this.#looks = taken === undefined || taken !== this.#taken ? 0 : this.#looks + 1;
    this.#taken = taken;
  }

  clear(): void {
    this.paid(this.#bytes);
    this.#isClosed = true;
  }

  destroy(): void {
    this.response.destroy();
  }
}
