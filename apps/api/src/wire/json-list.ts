/**
 * A JSON list of pieces that are produced one after another.
 * @param first the first of them, requested already
 */
export async function* jsonList(
  first: IteratorResult<readonly Buffer[], void>,
  pieces: AsyncGenerator<readonly Buffer[], void, void>,
): AsyncGenerator<Buffer> {
  const comma = Buffer.from(',');
  let before = Buffer.from('[');
  for (let piece = first; !piece.done; piece = await pieces.next()) {
    yield Buffer.concat(piece.value.flatMap((item, at) => [at === 0 ? before : comma, item]));
    before = comma;
  }
  yield Buffer.from(before === comma ? ']' : '[]');
}
