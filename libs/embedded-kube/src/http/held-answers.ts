import { ApiError, timeout } from '#lib/kube-semantics';
import { MASTERS } from '../authn/user.js';
import type { RequestContext } from './request-context.js';
import { holderOf } from './user-requests.js';

/** Letters of the answers of one user that are being read: far more than a namespace has. */
const MAX_LETTERS = 64 * 1024 * 1024;
/** Limit for all users together: a user with several accounts must not fill the memory with all of them. */
const MAX_OF_ALL = 4 * MAX_LETTERS;
/** Smaller answers are on their way, not kept. */
const UNNOTICED_LETTERS = 64 * 1024;

/** Client that gets a response; the signal is aborted once the response has ended. */
type Reader = Pick<RequestContext, 'user' | 'signal' | 'cut'>;

interface Held {
  readonly letters: number;
  readonly cut: () => void;
}

/** Unread responses of one holder. */
interface Unread {
  /** The oldest first. */
  readonly answers: Set<Held>;
  /** Total letters of all of them. */
  letters: number;
}

/**
 * Large responses that clients are reading. Each keeps its objects as they were when they were read: a user
 * who changes all of a namespace again and again, and reads a list of each state slowly, would fill the
 * memory with former states.
 */
export class HeldAnswers {
  readonly #held = new Map<string, Unread>();
  #sum = 0;

  constructor(
    private readonly maxLetters = MAX_LETTERS,
    private readonly maxOfAll = MAX_OF_ALL,
  ) {}

  /**
   * One of a user is admitted however large it is. Where all users together leave too much unread, the oldest answers of
   * the one who leaves most are cut.
   * @throws ApiError 429
   */
  begin({ user, signal, cut }: Reader, letters: number): void {
    if (user.groups.includes(MASTERS) || signal.aborted || letters < UNNOTICED_LETTERS) return;
    const holder = holderOf(user);
    const held = this.#lettersOf(holder);
    if (held > 0 && held + letters > this.maxLetters)
      throw tooMuch(
        `${holder} has not read answers of ${held} letters yet, and may leave ${this.maxLetters}; read those, or ask again later`,
      );
    this.#makeRoom(holder, letters);
    const answer: Held = { letters, cut };
    const unread = this.#held.get(holder) ?? { answers: new Set(), letters: 0 };
    this.#held.set(holder, unread);
    unread.answers.add(answer);
    unread.letters += letters;
    this.#sum += letters;
    signal.addEventListener('abort', () => this.#end(holder, answer), { once: true });
  }

  /**
   * The same of a write that was carried out: its client must not take it for one that was refused.
   * @throws ApiError 504
   */
  beginOfWrite(reader: Reader, letters: number): void {
    try {
      this.begin(reader, letters);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw timeout(`the write was carried out, but its answer is not sent: ${error.message}`);
    }
  }

  /**
   *
   * @throws ApiError 429 when no holder leaves more unread than this one would
   */
  #makeRoom(holder: string, letters: number): void {
    while (this.#sum + letters > this.maxOfAll) {
      const largest = this.#largest();
      // a single answer is admitted, however large it is
      if (!largest) return;
      const own = this.#lettersOf(holder);
      if (own > 0 && own + letters >= largest.unread.letters)
        throw tooMuch(
          `all users together have not read answers of ${this.#sum} letters yet, and may leave ${this.maxOfAll}; ${holder} would leave most of them: read those, or ask again later`,
        );
      const [oldest] = largest.unread.answers;
      if (!oldest) return;
      this.#end(largest.holder, oldest);
      oldest.cut();
    }
  }

  #largest(): { readonly holder: string; readonly unread: Unread } | undefined {
    let largest: { readonly holder: string; readonly unread: Unread } | undefined;
    for (const [holder, unread] of this.#held)
      if (!largest || unread.letters > largest.unread.letters) largest = { holder, unread };
    return largest;
  }

  #lettersOf(holder: string): number {
    return this.#held.get(holder)?.letters ?? 0;
  }

  #end(holder: string, answer: Held): void {
    const unread = this.#held.get(holder);
    // one that was cut ends once more with its request
    if (!unread?.answers.delete(answer)) return;
    unread.letters -= answer.letters;
    this.#sum -= answer.letters;
    if (unread.answers.size === 0) this.#held.delete(holder);
  }
}

function tooMuch(message: string): ApiError {
  return new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds: 1 });
}
