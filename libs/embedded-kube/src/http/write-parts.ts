import type { AnswerStream } from './request-context.js';

/** Parts are put together up to this size, and larger ones taken apart: each write costs as much as some kilobytes. */
const PIECE_LETTERS = 64 * 1024;

/** The same text in pieces that are worth a write. Pieces of a large part are views: nothing is copied. */
export function* piecesOf(parts: Iterable<string>): Generator<string> {
  let gathered = '';
  for (const part of parts) {
    if (part.length < PIECE_LETTERS) gathered += part;
    if (gathered !== '' && gathered.length + part.length >= PIECE_LETTERS) {
      yield gathered;
      gathered = '';
    }
    if (part.length >= PIECE_LETTERS) yield* slicesOf(part);
  }
  if (gathered !== '') yield gathered;
}

/** No pair of surrogates is torn. */
function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const last = text.charCodeAt(from + PIECE_LETTERS - 1);
    const to = from + PIECE_LETTERS + (last >= 0xd800 && last < 0xdc00 ? 1 : 0);
    yield text.slice(from, to);
    from = to;
  }
}

/** Writes each piece once the client has taken those before. */
export async function writePieces(pieces: Iterable<string>, stream: AnswerStream): Promise<void> {
  for (const piece of pieces) {
    if (!stream.write(piece)) return;
    await stream.drained();
  }
  stream.end();
}
