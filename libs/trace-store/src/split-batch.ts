import { isUtf8 } from 'node:buffer';
import { eachItem, eachMember, expectEnd, JsonSyntaxError } from './json-scanner.js';
import type { RunBatch, RunOperation } from './run-operation.js';

/**
 * Takes `{"post": […], "patch": […]}` apart without building it, so that each run keeps its bytes.
 * @throws JsonSyntaxError when it is no JSON of that shape; other members are ignored
 */
export function splitBatch(body: Buffer): RunBatch {
  if (!isUtf8(body)) throw new JsonSyntaxError('the text is not UTF-8', 0);
  const batch: { post: RunOperation[]; patch: RunOperation[] } = { post: [], patch: [] };
  const end = eachMember(body, 0, (name, range) => {
    if (name !== 'post' && name !== 'patch') return;
    if (body.toString('latin1', range.start, range.end) === 'null') return;
    eachItem(body, range.start, (item) => {
      batch[name].push({ run: body.subarray(item.start, item.end) });
    });
  });
  expectEnd(body, end);
  return batch;
}
