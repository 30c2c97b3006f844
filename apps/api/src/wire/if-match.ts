import { PublicError } from '#lib/errors';
import { wrongField } from './request-pipe.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The header `Idempotency-Key`; undefined when absent. @throws PublicError invalid when the header is no key */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || KEY.test(header)) return header;
  const msg = 'Idempotency-Key should be 1 to 255 visible ASCII characters without blanks';
  throw wrongField(['header', 'Idempotency-Key'], msg);
}

const TAG = /^(W\/)?"[\x21\x23-\x7e]*"$/;

/** The entity tag of a generation: it changes with the desired state, not with its progress. */
export function entityTag(generation: number): string {
  return `"g${generation}"`;
}

/** The header `If-Match`: a change is made only to what has one of these tags. */
export class IfMatch {
  private constructor(private readonly tags: readonly string[] | '*') {}

  /**
   * Parses the header; undefined when absent.
   * @throws PublicError invalid when the header is no list of tags
   */
  static parse(header: string | undefined): IfMatch | undefined {
    if (header === undefined) return undefined;
    if (header.trim() === '*') return new IfMatch('*');
    const tags = header.split(',').map((tag) => tag.trim());
    if (tags.every((tag) => TAG.test(tag))) return new IfMatch(tags);
    const msg = 'If-Match should be * or a list of entity tags in quotes, as ETag has them';
    throw wrongField(['header', 'If-Match'], msg);
  }

  /** @throws PublicError precondition_failed unless the present generation has one of the tags */
  require(generation: number): void {
    const present = entityTag(generation);
    // a weak tag never matches: RFC 9110 asks for the strong comparison
    if (this.tags === '*' || this.tags.includes(present)) return;
    throw new PublicError(
      'precondition_failed',
      `If-Match names another version than the present one, ${present}: read it again and decide anew`,
    );
  }
}
