import { PublicError, type FieldProblem } from '#lib/errors';
import { type ByteRange, eachItem, eachMember, expectEnd, type JsonWalk } from '#lib/json';
import type { RunBatch, RunOperation } from './run-operation.js';

/**
 * Maximum number of operations; clients send a hundred at a time. Each costs many times its bytes in memory
 * while it is parsed.
 */
const MAX_OPERATIONS = 20_000;
/** Far deeper than a run may be: a problem of one run must not refuse the others of its batch. */
const SPLIT = { levels: 1000, isLenient: true };

/**
 * Maximum number of members of a batch that are examined. Two are known, and a client must not fill time and
 * memory with its own problems.
 */
const MAX_MEMBERS = 100;
const MAX_NAME = 200;

function refuse(problems: readonly FieldProblem[]): never {
  throw new PublicError('invalid', 'the batch is not valid', problems);
}

/**
 * Takes `{"post": […], "patch": […]}` apart without building it, so that each run keeps its bytes.
 * @param place of the whole, in the caller's terms
 * @throws JsonSyntaxError when it is no JSON of that shape. PublicError too_large; invalid for other members, and for neither
 * of the two: runs under a misspelt name would be lost
 */
export function* splitBatch(body: Buffer, place: readonly (string | number)[] = []): JsonWalk<RunBatch> {
  const batch: { post: RunOperation[]; patch: RunOperation[] } = { post: [], patch: [] };
  function* take(name: 'post' | 'patch', range: ByteRange): JsonWalk<void> {
    if (range.end - range.start === 4 && body.toString('latin1', range.start, range.end) === 'null') return;
    const operations = batch[name];
    const visit = (item: ByteRange): void => {
      if (batch.post.length + batch.patch.length === MAX_OPERATIONS)
        throw new PublicError('too_large', `A batch can have at most ${MAX_OPERATIONS} runs and updates`);
      operations.push({
        run: body.subarray(item.start, item.end),
        place: [...place, name, operations.length],
      });
    };
    yield* eachItem(body, range.start, visit, SPLIT);
  }
  const unknown = new Set<string>();
  const refuseUnknown = (): never =>
    refuse(
      [...unknown].map((name) => ({
        loc: [...place, name],
        msg: 'Unknown member; known here: post, patch',
        type: 'extra_forbidden',
      })),
    );
  let members = 0;
  const visit = (name: string, range: ByteRange): JsonWalk<void> | void => {
    const work = name === 'post' || name === 'patch' ? take(name, range) : undefined;
    if (!work) unknown.add(name.slice(0, MAX_NAME));
    if (++members < MAX_MEMBERS) return work;
    if (unknown.size > 0) refuseUnknown();
    refuse([{ loc: [...place, name], msg: 'Member sent too often; send it once', type: 'value_error' }]);
  };
  const end = yield* eachMember(body, 0, visit, SPLIT);
  expectEnd(body, end);
  if (members === 0)
    refuse([{ loc: [...place, 'post'], msg: 'Field required: post or patch', type: 'missing' }]);
  if (unknown.size > 0) refuseUnknown();
  return batch;
}
