import { ApiError, timeout } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';
import { holderOf } from './user-requests.js';

/** Letters of the answers of one user that are being read: far more than a namespace has. */
const MAX_LETTERS = 64 * 1024 * 1024;
/** Smaller answers are on their way, not kept. */
const UNNOTICED_LETTERS = 64 * 1024;

/**
 * Large answers that clients are reading. Each keeps the objects as they were when they were read: whoever changes all of a
 * namespace again and again, and reads a list of each state slowly, would fill the memory with what was.
 */
export class HeldAnswers {
  readonly #letters = new Map<string, number>();

  constructor(private readonly maxLetters = MAX_LETTERS) {}

  /**
   * One is admitted however large it is.
   * @param ended aborted once the answer has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, letters: number, ended: AbortSignal): void {
    if (user.groups.includes(MASTERS) || ended.aborted || letters < UNNOTICED_LETTERS) return;
    const holder = holderOf(user);
    const held = this.#letters.get(holder) ?? 0;
    if (held > 0 && held + letters > this.maxLetters)
      throw new ApiError(
        429,
        'TooManyRequests',
        `${holder} has not read answers of ${held} letters yet, and may leave ${this.maxLetters}; read those, or ask again later`,
        { retryAfterSeconds: 1 },
      );
    this.#letters.set(holder, held + letters);
    ended.addEventListener('abort', () => this.#end(holder, letters), { once: true });
  }

  /**
   * The same of a write that was carried out: its client must not take it for one that was refused.
   * @throws ApiError 504
   */
  beginOfWrite(user: UserInfo, letters: number, ended: AbortSignal): void {
    try {
      this.begin(user, letters, ended);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw timeout(`the write was carried out, but its answer is not sent: ${error.message}`);
    }
  }

  #end(holder: string, letters: number): void {
    const left = (this.#letters.get(holder) ?? 0) - letters;
    if (left > 0) this.#letters.set(holder, left);
    else this.#letters.delete(holder);
  }
}
