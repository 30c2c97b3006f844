import { invalid } from './request-pipe.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The header `Idempotency-Key`; undefined when absent. @throws PublicError invalid when the header is no key */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || KEY.test(header)) return header;
  const msg = 'Idempotency-Key should be 1 to 255 visible ASCII characters without blanks';
  throw invalid([{ loc: ['header', 'Idempotency-Key'], msg, type: 'value_error' }]);
}
