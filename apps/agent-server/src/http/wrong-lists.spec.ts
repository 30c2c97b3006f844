import type { z } from 'zod';
import { PublicError, type FieldProblem } from '#lib/errors';
import { parseSend03, parseSend10 } from '../a2a/parameters.js';
import { CRON_SHAPES } from '../cron/requested-cron.js';
import { requireLabels } from '../memory/item-limits.js';
import { parseBody, requestedRun } from '../run/requested-run.js';
import { ASSISTANT_SHAPES } from './assistant-routes.js';
import { CANCEL_SHAPES } from './cancel-routes.js';
import { ERASE_SHAPES } from './erase-routes.js';
import { RUN_SHAPES } from './run-routes.js';
import { selected } from './search-answer.js';
import { STORE_SHAPES } from './store-routes.js';
import { eventRequest } from './thread-stream/subscription.js';
import { THREAD_SHAPES } from './thread-routes.js';
import { UPKEEP_SHAPES } from './thread-upkeep.js';

const WRONG = Array<number>(20_000).fill(1);
const MANY_LISTS = Array<readonly number[]>(1_000).fill(Array<number>(100).fill(1));

function problemsOf(look: () => unknown): readonly FieldProblem[] {
  try {
    look();
  } catch (error) {
    if (error instanceof PublicError) return error.problems;
    throw error;
  }
  throw new Error('the body was taken');
}

describe('an agent server that is given thousands of wrong items', () => {
  const run = { assistant_id: 'a' };
  it.each<[string, z.ZodType, object]>([
    ['fields of threads', THREAD_SHAPES.search, { select: WRONG }],
    ['ids of threads', THREAD_SHAPES.search, { ids: WRONG }],
    ['supersteps', THREAD_SHAPES.creation, { supersteps: WRONG }],
    ['updates', THREAD_SHAPES.creation, { supersteps: Array(900).fill({ updates: WRONG.slice(0, 100) }) }],
    ['fields of a state', THREAD_SHAPES.stateQuery, { checkpoint: {}, select: WRONG }],
    ['paths', THREAD_SHAPES.search, { extract: { ...WRONG } }],
    ['fields of assistants', ASSISTANT_SHAPES.search, { select: WRONG }],
    ['fields of crons', CRON_SHAPES.search, { select: WRONG }],
    ['fields of runs', RUN_SHAPES.runList, { select: WRONG }],
    ['modes to join', RUN_SHAPES.joinModes, { stream_mode: WRONG }],
    ['modes of a thread', RUN_SHAPES.threadModes, { stream_mode: WRONG }],
    ['modes', requestedRun, { ...run, stream_mode: WRONG }],
    ['nodes before', requestedRun, { ...run, interrupt_before: WRONG }],
    ['nodes after', requestedRun, { ...run, interrupt_after: WRONG }],
    ['tags', requestedRun, { ...run, config: { tags: WRONG } }],
    ['runs to cancel', CANCEL_SHAPES.cancellation, { run_ids: WRONG }],
    ['threads to prune', UPKEEP_SHAPES.pruning, { thread_ids: WRONG }],
    ['namespaces to erase', ERASE_SHAPES.erasing, { metadata: { a: 1 }, namespaces: WRONG }],
    ['labels to erase', ERASE_SHAPES.erasing, { metadata: { a: 1 }, namespaces: [WRONG] }],
    ['labels', STORE_SHAPES.place, { namespace: WRONG, key: 'a' }],
    ['labels to search', STORE_SHAPES.searching, { namespace_prefix: WRONG }],
    ['labels of a suffix', STORE_SHAPES.listing, { suffix: WRONG }],
    ['paths to embed', STORE_SHAPES.putting, { namespace: [], key: 'a', value: {}, index: WRONG }],
    ['channels', eventRequest, { channels: WRONG }],
    ['prefixes', eventRequest, { channels: ['values'], namespaces: WRONG }],
    ['segments', eventRequest, { channels: ['values'], namespaces: MANY_LISTS }],
  ])('refuses by its length a list of %s', (_title, shape, body) => {
    expect(shape.safeParse(body).error?.issues.length).toBe(1);
  });

  const LONG = 'a'.repeat(10_001);
  const MARK = { checkpoint_id: LONG };
  it.each<[string, z.ZodType, object]>([
    ['node', THREAD_SHAPES.update, { as_node: LONG }],
    ['node of a superstep', THREAD_SHAPES.creation, { supersteps: [{ updates: [{ as_node: LONG }] }] }],
    ['checkpoint to change', THREAD_SHAPES.update, MARK],
    ['checkpoint to look at', THREAD_SHAPES.stateQuery, { checkpoint: MARK }],
    ['namespace', THREAD_SHAPES.stateQuery, { checkpoint: { checkpoint_ns: LONG } }],
    ['end of a history', THREAD_SHAPES.history, { before: LONG }],
    ['configured end of a history', THREAD_SHAPES.history, { before: { configurable: MARK } }],
    ['checkpoint of a run', requestedRun, { ...run, ...MARK }],
    ['place of a run', requestedRun, { ...run, checkpoint: MARK }],
    ['configured checkpoint', requestedRun, { ...run, config: { configurable: MARK } }],
  ])('refuses by its length the name of a %s', (_title, shape, body) => {
    expect(shape.safeParse(body).error?.issues.length).toBe(1);
  });

  const message = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'a' }] };
  it.each([
    ['parts', () => parseSend03({ message: { ...message, parts: WRONG } })],
    ['output modes', () => parseSend03({ message, configuration: { acceptedOutputModes: WRONG } })],
    ['parts of 1.0', () => parseSend10({ message: { ...message, role: 'ROLE_USER', parts: WRONG } })],
    ['extensions', () => parseSend03({ message: { ...message, extensions: WRONG } })],
  ])('refuses by its length a list of %s of a message', (_title, send) => {
    expect(send).toThrow(/^Invalid params: [a-zA-Z.]+: [^:;]+(: [^:;]+)?$/);
  });

  it('answers a hundred problems, and how many more there are', () => {
    const labels = Array<number>(100).fill(1);
    const body = { metadata: { a: 1 }, namespaces: Array(20).fill(labels) };
    const problems = problemsOf(() => parseBody(ERASE_SHAPES.erasing, body));
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toMatchObject({ loc: ['body'], msg: '1900 more problems are not shown' });
  });

  it('refuses a namespace without a look at its labels', () => {
    expect(problemsOf(() => requireLabels('prefix', Array<string>(20_000).fill('')))).toHaveLength(1);
  });
});

describe('an agent server that is given a list', () => {
  it('selects every field that it names, also more than once', () => {
    const body = { select: Array(100).fill(['thread_id', 'values', 'metadata']).flat() };
    expect(parseBody(THREAD_SHAPES.search, body).select).toHaveLength(300);
    const rows = [{ thread_id: 'a', status: 'idle', values: 1 }];
    expect(selected(rows, body.select)).toEqual([{ thread_id: 'a', values: 1 }]);
    expect(selected(rows, [])).toEqual(rows);
  });

  it('takes a thousand tags, nodes, ids and parts', () => {
    const names = Array.from({ length: 1_000 }, (_none, n) => `name-${n}`);
    const run = { assistant_id: 'a', interrupt_before: names, interrupt_after: '*', config: { tags: names } };
    expect(parseBody(requestedRun, run)).toMatchObject(run);
    const parts = names.map((text) => ({ kind: 'text', text }));
    expect(parseSend03({ message: { messageId: 'm', role: 'user', parts } }).message.parts).toEqual(parts);
    const ids = names.map((_none, n) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`);
    expect(parseBody(THREAD_SHAPES.search, { ids })).toEqual({ ids });
  });
});

describe('an agent server that is given a path to extract', () => {
  const looked = (path: string) => THREAD_SHAPES.search.safeParse({ extract: { a: path } }).error?.issues;

  it('refuses one by its length before anything reads it', () => {
    expect(looked(`values${'.a'.repeat(2_000_000)}`)).toEqual([
      expect.objectContaining({ message: 'must not be longer than 4096 characters' }),
    ]);
    expect(looked('b'.repeat(5_000))).toHaveLength(1);
  });

  it('takes one up to its bounds', () => {
    expect(looked(`values${'.a'.repeat(127)}`)).toBeUndefined();
    expect(looked(`values.${'a'.repeat(4_089)}`)).toBeUndefined();
    expect(looked(`values${'.a'.repeat(128)}`)).toHaveLength(1);
  });
});
