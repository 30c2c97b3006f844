import { describe, expect, it } from '@jest/globals';
import { inTurns, type JsonWalk } from '#lib/json';
import { parseExample } from '../dataset/parse-example.js';
import { parseOperation } from '../wire/parse-operation.js';
import { PAYLOAD_FIELDS } from '../run/stored-run.js';
import { splitBatch } from '../wire/run-operation.js';

const BYTES = 8 << 20;
const ID = '7a1e0d3c-8d5b-4a54-9c7f-0f3f5f0e6b11';
/** All of it at once takes many times as long, a piece a few milliseconds. */
const LONGEST_MS = 100;

/**
 * The longest time, in milliseconds, that this thread worked before it yielded; other load of the machine
 * does not count.
 */
async function longestOf(work: () => Promise<unknown>): Promise<number> {
  const worked = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let [last, longest] = [worked(), 0];
  const look = (): void => {
    const now = worked();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
    return longest;
  } finally {
    clearInterval(timer);
  }
}

/** The least of a few tries: a full collection of garbage from the files before may fall into one of them. */
async function longestWait(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 4 && least >= LONGEST_MS; tries++)
    least = Math.min(least, await longestOf(work));
  return least;
}

const filled = (open: string, item: string, close: string): string =>
  open + item.repeat(BYTES / item.length) + close;

const TEXTS: readonly (readonly [string, string])[] = [
  ['numbers', filled('[', '1,', '1]')],
  ['members', filled('{', '"a":1,', '"a":1}')],
  ['lists of lists', filled('[', '[[]],', '1]')],
  ['halves of surrogate pairs', filled('"', '\\ud800', '"')],
  ['escapes', filled('"', '\\\\', '"')],
  ['words for no number', filled('[', 'NaN,', '1]')],
  ['strings beside such a word', filled('[', '"",', 'NaN]')],
  ['one name', filled('{"', 'x', '":1}')],
];

describe.each(TEXTS)('a long text of %s', (_title, text) => {
  const turns = (walk: () => JsonWalk<unknown>) => longestWait(() => inTurns(walk()));

  it('gives way while a batch is split', async () => {
    const body = Buffer.from(`{"post":[${text}]}`);
    expect(await turns(() => splitBatch(body))).toBeLessThan(LONGEST_MS);
  });

  it('gives way while it is read as a part of a run', async () => {
    for (const field of PAYLOAD_FIELDS) {
      const fields = { [field]: Buffer.from(text) };
      const operation = { run: Buffer.from('{"name":"n","run_type":"llm"}'), id: ID, fields };
      expect(await turns(() => parseOperation('post', operation))).toBeLessThan(LONGEST_MS);
    }
  });

  it('gives way while it is read inside of a run', async () => {
    const run = Buffer.from(`{"name":"n","run_type":"llm","x":${text},"outputs":{"generations":${text}}}`);
    expect(await turns(() => parseOperation('post', { run, id: ID }))).toBeLessThan(LONGEST_MS);
  });

  it('gives way while it is read as inputs of an example', async () => {
    const inputs = Buffer.from(`{"x":${text}}`);
    expect(await turns(() => parseExample({ id: ID, inputs, place: [] }))).toBeLessThan(LONGEST_MS);
  });
});
