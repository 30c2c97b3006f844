import { type ByteRange, eachMember, type JsonWalk } from '#lib/json';

/** The member `metadata` of a stored `extra`, as its bytes; of several the last, as parsers take it. */
export function* metadataOf(extra: Buffer): JsonWalk<Buffer | undefined> {
  if (extra[0] !== '{'.charCodeAt(0)) return undefined;
  let found: ByteRange | undefined;
  yield* eachMember(extra, 0, (name, range) => {
    if (name === 'metadata') found = range;
  });
  return found && extra.subarray(found.start, found.end);
}
