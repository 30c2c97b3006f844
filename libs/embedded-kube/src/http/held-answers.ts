import { ApiError, timeout } from '#lib/kube-semantics';
import { MASTERS } from '../authn/user.js';
import type { RequestContext } from './request-context.js';
import { holderOf } from './user-requests.js';

/** Letters of the answers of one user that are being read: far more than a namespace has. */
const MAX_LETTERS = 64 * 1024 * 1024;
/** Of all users together: who makes several accounts must not fill the memory with all of them. */
const MAX_OF_ALL = 4 * MAX_LETTERS;
/** Smaller answers are on their way, not kept. */
const UNNOTICED_LETTERS = 64 * 1024;

/** Whoever gets an answer; the signal is aborted once it has ended. */
type Reader = Pick<RequestContext, 'user' | 'signal' | 'cut'>;

interface Held {
  readonly letters: number;
  readonly cut: () => void;
}

/**
 * Large answers that clients are reading. Each keeps the objects as they were when they were read: whoever changes all of a
 * namespace again and again, and reads a list of each state slowly, would fill the memory with what was.
 */
export class HeldAnswers {
  /** The oldest of each holder first. */
  readonly #held = new Map<string, Set<Held>>();

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
    const answers = this.#held.get(holder) ?? new Set();
    this.#held.set(holder, answers.add(answer));
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

  /** @throws ApiError 429 when nobody leaves more unread than this holder would */
  #makeRoom(holder: string, letters: number): void {
    for (;;) {
      const all = [...this.#held.keys()].map((one) => ({ one, held: this.#lettersOf(one) }));
      const sum = all.reduce((total, { held }) => total + held, 0);
      const [largest] = all.toSorted((a, b) => b.held - a.held);
      // a single answer is admitted, however large it is
      if (!largest || sum + letters <= this.maxOfAll) return;
      const own = this.#lettersOf(holder);
      if (own > 0 && own + letters >= largest.held)
        throw tooMuch(
          `all users together have not read answers of ${sum} letters yet, and may leave ${this.maxOfAll}; ${holder} would leave most of them: read those, or ask again later`,
        );
      const [oldest] = this.#held.get(largest.one) ?? [];
      if (!oldest) return;
      this.#end(largest.one, oldest);
      oldest.cut();
    }
  }

  #lettersOf(holder: string): number {
    let sum = 0;
    for (const { letters } of this.#held.get(holder) ?? []) sum += letters;
    return sum;
  }

  #end(holder: string, answer: Held): void {
    const answers = this.#held.get(holder);
    answers?.delete(answer);
    if (answers?.size === 0) this.#held.delete(holder);
  }
}

function tooMuch(message: string): ApiError {
  return new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds: 1 });
}
