import { PublicError } from '#lib/errors';

const CURSOR = /^o(\d{1,10})$/;

/** The page that begins behind so many items of a list that only grows at its end. */
export function renderOffset(offset: number): string {
  return Buffer.from(`o${offset}`).toString('base64url');
}

/** @throws PublicError bad_request */
export function parseOffset(cursor: string | null | undefined): number {
  if (!cursor) return 0;
  const [, offset] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (offset !== undefined && Number(offset) < 2 ** 31) return Number(offset);
  throw new PublicError('bad_request', 'cursor is none that a page was answered with; begin without one');
}
