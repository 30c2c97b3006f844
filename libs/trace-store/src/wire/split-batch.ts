import { PublicError } from '#lib/errors';
import { eachItem, eachMember, expectEnd, type ByteRange } from './json-scanner.js';
import type { RunBatch, RunOperation } from './run-operation.js';

/** Clients send a hundred at a time. Each costs many times its bytes in memory while it is looked at. */
const MAX_OPERATIONS = 20_000;
/** Far more than a run may have: what is nested too deeply for one shall not take the others of its batch with it. */
const SPLIT_DEPTH = 1000;

/**
 * Takes `{"post": […], "patch": […]}` apart without building it, so that each run keeps its bytes.
 * @param place of the whole, in the caller's terms
 * @throws JsonSyntaxError when it is no JSON of that shape; other members are ignored. PublicError too_large
 */
export function splitBatch(body: Buffer, place: readonly (string | number)[] = []): RunBatch {
  const batch: { post: RunOperation[]; patch: RunOperation[] } = { post: [], patch: [] };
  const take = (name: 'post' | 'patch', range: ByteRange): void => {
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
    eachItem(body, range.start, visit, SPLIT_DEPTH);
  };
  const visit = (name: string, range: ByteRange): void => {
    if (name === 'post' || name === 'patch') take(name, range);
  };
  const end = eachMember(body, 0, visit, SPLIT_DEPTH);
  expectEnd(body, end);
  return batch;
}
