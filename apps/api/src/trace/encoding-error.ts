import { UnreadableError } from './byte-reader.js';

/** The body is not compressed as it says, or takes more than a compressed body may. */
export class EncodingError extends UnreadableError {
  override readonly type = 'encoding_invalid';
}
