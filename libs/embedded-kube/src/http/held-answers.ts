import { Admission } from '#lib/admission';
import { ApiError, timeout } from '#lib/kube-semantics';
import { MASTERS } from '../authn/user.js';
import type { RequestContext } from './request-context.js';
import { holderOf } from './request-pots.js';

/** Letters of the answers of one user that are being read: far more than a namespace has. */
const MAX_LETTERS = 64 * 1024 * 1024;
/** Limit for all users together: a user with several accounts must not fill the memory with all of them. */
const MAX_OF_ALL = 4 * MAX_LETTERS;
/** Smaller answers are on their way, not kept. */
const UNNOTICED_LETTERS = 64 * 1024;

/** Client that gets a response; the signal is aborted once the response has ended. */
type Reader = Pick<RequestContext, 'user' | 'signal'>;

/**
 * Large responses that clients are reading. Each keeps its objects as they were when they were read: a user
 * who changes all of a namespace again and again, and reads a list of each state slowly, would fill the
 * memory with former states.
 */
export class HeldAnswers {
  readonly #unread: Admission;

  constructor(
    private readonly maxLetters = MAX_LETTERS,
    private readonly maxOfAll = MAX_OF_ALL,
  ) {
    const half = maxOfAll / 2;
    this.#unread = new Admission({
      capacity: half,
      perOwner: maxLetters,
      reserve: { perOwner: 1, units: half },
    });
  }

  /**
   * One of a user is admitted however large it is. Half of the limit of all users is left to those who read nothing yet.
   * @throws ApiError 429
   */
  begin({ user, signal }: Reader, letters: number): void {
    if (user.groups.includes(MASTERS) || signal.aborted || letters < UNNOTICED_LETTERS) return;
    const holder = holderOf(user);
    const place = this.#unread.tryEnter(holder, letters);
    if (place) return signal.addEventListener('abort', place.release, { once: true });
    const own = this.#unread.heldBy(holder);
    const unread =
      own > 0 && own + letters > this.maxLetters
        ? `${holder} has not read answers of ${own} letters yet, and may leave ${this.maxLetters}`
        : `all users together have not read answers of ${this.#unread.held} letters yet, and may leave ${this.maxOfAll}`;
    throw new ApiError(429, 'TooManyRequests', `${unread}; read those, or ask again later`, {
      retryAfterSeconds: 1,
    });
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
}
