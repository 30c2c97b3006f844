/** A field whose value the files cannot hold, or whose bytes are not those of its type. */
export class FieldValueError extends Error {
  override readonly name = 'FieldValueError';
}
