import { setTimeout as sleep } from 'node:timers/promises';
import type { Recorder } from '../recorder.js';
import { freshThread, hello, scenariosOf, textAt, type Scenario } from './scenario.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

async function background(to: Recorder, path: string, body: unknown): Promise<string> {
  return `${path}/runs/${textAt(await to.prepare('POST', `${path}/runs`, body), 'run_id')}`;
}

async function whenRunning(to: Recorder, run: string): Promise<void> {
  for (let n = 0; n < 200; n++) {
    if (textAt(await to.prepare('GET', run), 'status') === 'running') return sleep(50);
    await sleep(50);
  }
  throw new Error(`${run} does not begin`);
}

const GRAPHS: Readonly<Record<string, unknown>> = {
  echo: hello,
  counter: {},
  sending: { words: ['a', 'b'] },
  turning: { turn: 'left' },
  tallying: { name: 'Ada' },
  ordering: { item: 'tea', amount: 2 },
  talking: hello,
  advising: hello,
  doubling: [1, 2, 3],
  housing: hello,
  tooling: {},
  seeing: {},
};

const WAITS = Object.entries(GRAPHS).flatMap(([assistant_id, input]) =>
  scenariosOf('wait', {
    [`runs ${assistant_id}`]: async (to) => {
      await to.step('without a thread', 'POST', '/runs/wait', { assistant_id, input });
      const path = await freshThread(to);
      await to.step('on a thread', 'POST', `${path}/runs/wait`, { assistant_id, input });
      await to.step('state', 'GET', `${path}/state`);
      await to.step('thread', 'GET', path);
      await to.step('runs', 'GET', `${path}/runs`);
    },
  }),
);

const RUNS = scenariosOf('runs', {
  'are made, read and joined': async (to) => {
    const path = await freshThread(to);
    const created = await to.step('create', 'POST', `${path}/runs`, {
      after_seconds: 1,
      assistant_id: 'slow',
      input: { waitMs: 100 },
      metadata: { mark: 'made' },
      config: { tags: ['a'], configurable: { colour: 'red' } },
    });
    const run = `${path}/runs/${textAt(created, 'run_id')}`;
    await to.step('join', 'GET', `${run}/join`);
    await to.step('get', 'GET', run);
    await to.step('join the ended', 'GET', `${run}/join`);
    await to.step('stream the ended', 'GET', `${run}/stream`);
    await to.step('list', 'GET', `${path}/runs`);
    await to.step('list by status', 'GET', `${path}/runs?status=success`);
    await to.step('list errors', 'GET', `${path}/runs?status=error`);
    await to.step('list some fields', 'GET', `${path}/runs?select=run_id&select=status`);
    await to.step('remove', 'DELETE', run);
    await to.step('get removed', 'GET', run);
  },
  'without a thread are made': async (to) => {
    // so late that their status is no matter of speed
    const after_seconds = 60;
    await to.step('create', 'POST', '/runs', { assistant_id: 'counter', input: {}, after_seconds });
    await to.step('batch', 'POST', '/runs/batch', [
      { assistant_id: 'counter', input: {}, after_seconds },
      { assistant_id: 'turning', input: { turn: 'left' }, after_seconds },
    ]);
  },
  'are refused where the request is wrong': async (to) => {
    const path = await freshThread(to);
    await to.step('no assistant', 'POST', `${path}/runs`, { input: {} });
    await to.step('unknown graph', 'POST', `${path}/runs`, { assistant_id: 'nothing', input: {} });
    await to.step('unknown assistant', 'POST', `${path}/runs`, { assistant_id: NOWHERE, input: {} });
    await to.step('unknown strategy', 'POST', `${path}/runs`, {
      assistant_id: 'echo',
      multitask_strategy: 'hope',
    });
    await to.step('unknown mode', 'POST', `${path}/runs/stream`, {
      assistant_id: 'echo',
      stream_mode: 'all',
    });
    await to.step('broken JSON', 'POST', `${path}/runs`, '{"assistant_id": ');
    await to.step('a list', 'POST', `${path}/runs`, []);
    await to.step('unknown durability', 'POST', `${path}/runs`, { assistant_id: 'echo', durability: 'ever' });
    await to.step('config and context', 'POST', `${path}/runs`, {
      assistant_id: 'echo',
      after_seconds: 60,
      config: { configurable: { a: 1 } },
      context: { a: 1 },
    });
    await to.step('negative delay', 'POST', `${path}/runs`, { assistant_id: 'echo', after_seconds: -1 });
    await to.step('unknown run', 'GET', `${path}/runs/${NOWHERE}`);
    await to.step('join unknown', 'GET', `${path}/runs/${NOWHERE}/join`);
    await to.step('cancel unknown', 'POST', `${path}/runs/${NOWHERE}/cancel`);
    await to.step('remove unknown', 'DELETE', `${path}/runs/${NOWHERE}`);
    await to.step('stream unknown', 'GET', `${path}/runs/${NOWHERE}/stream`);
    await to.step('run that is no uuid', 'GET', `${path}/runs/mine`);
    await to.step('without a thread, no assistant', 'POST', '/runs/wait', {});
    await to.step('without a thread, unknown graph', 'POST', '/runs/wait', { assistant_id: 'nothing' });
  },
  'are cancelled while they run': async (to) => {
    const path = await freshThread(to);
    const run = await background(to, path, { assistant_id: 'slow', input: { waitMs: 1_500 } });
    await whenRunning(to, run);
    await to.step('cancel', 'POST', `${run}/cancel?wait=1`);
    await to.step('run', 'GET', run);
    await to.step('thread', 'GET', path);
    await to.step('state', 'GET', `${path}/state`);
    await to.step('cancel again', 'POST', `${run}/cancel`);
    await to.step('join', 'GET', `${run}/join`);
  },
  'are rolled back': async (to) => {
    const path = await freshThread(to);
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'counter', input: {} });
    const run = await background(to, path, { assistant_id: 'slow', input: { waitMs: 1_500 } });
    await whenRunning(to, run);
    await to.step('cancel', 'POST', `${run}/cancel?wait=1&action=rollback`);
    await to.step('run', 'GET', run);
    await to.step('state', 'GET', `${path}/state`);
    await to.step('thread', 'GET', path);
  },
  'of several are cancelled': async (to) => {
    const path = await freshThread(to);
    const run = await background(to, path, { assistant_id: 'slow', input: { waitMs: 1_500 } });
    await whenRunning(to, run);
    await to.step('cancel', 'POST', '/runs/cancel', {
      thread_id: path.split('/').at(-1),
      run_ids: [run.split('/').at(-1)],
    });
    await to.prepare('GET', `${run}/join`);
    await to.step('run', 'GET', run);
  },
  'wait behind one that is at work': async (to) => {
    const path = await freshThread(to);
    const first = await background(to, path, { assistant_id: 'slow', input: { waitMs: 300 } });
    await whenRunning(to, first);
    await to.step('thread at work', 'GET', path);
    await to.step('update of the state', 'POST', `${path}/state`, { values: { steps: ['mine'] } });
    await to.step('second', 'POST', `${path}/runs/wait`, { assistant_id: 'counter', input: {} });
    await to.step('list', 'GET', `${path}/runs`);
  },
  'are refused beside one that is at work': async (to) => {
    const path = await freshThread(to);
    const first = await background(to, path, { assistant_id: 'slow', input: { waitMs: 300 } });
    await whenRunning(to, first);
    await to.step('second', 'POST', `${path}/runs`, {
      assistant_id: 'counter',
      input: {},
      multitask_strategy: 'reject',
    });
    await to.step('first', 'GET', `${first}/join`);
  },
  'interrupt one that is at work': async (to) => {
    const path = await freshThread(to);
    const first = await background(to, path, { assistant_id: 'slow', input: { waitMs: 1_500 } });
    await whenRunning(to, first);
    await to.step('second', 'POST', `${path}/runs/wait`, {
      assistant_id: 'counter',
      input: {},
      multitask_strategy: 'interrupt',
    });
    await to.step('first', 'GET', first);
    await to.step('state', 'GET', `${path}/state`);
  },
  'roll back one that is at work': async (to) => {
    const path = await freshThread(to);
    const first = await background(to, path, { assistant_id: 'slow', input: { waitMs: 1_500 } });
    await whenRunning(to, first);
    await to.step('second', 'POST', `${path}/runs/wait`, {
      assistant_id: 'counter',
      input: {},
      multitask_strategy: 'rollback',
    });
    await to.step('first', 'GET', first);
    await to.step('state', 'GET', `${path}/state`);
  },
  'get what they are called with': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, {
      assistant_id: 'seeing',
      input: {},
      config: { configurable: { word: 'given' }, tags: ['one'], recursion_limit: 9 },
      metadata: { colour: 'red' },
    });
    await to.step('by a context', 'POST', '/runs/wait', {
      assistant_id: 'seeing',
      input: {},
      context: { word: 'meant' },
    });
    await to.step('a context that is asked for', 'POST', '/runs/wait', {
      assistant_id: 'ordering',
      input: { item: 'tea' },
      config: { configurable: { currency: 'NOK', colour: 'red' } },
    });
    await to.step('made by its configuration', 'POST', '/runs/wait', {
      assistant_id: 'made',
      input: {},
      config: { configurable: { word: 'given' } },
    });
    await to.step('history', 'GET', `${path}/history?limit=10`);
  },
  'keep what durability asks': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, {
      assistant_id: 'talking',
      input: hello,
      durability: 'exit',
    });
    await to.step('history', 'GET', `${path}/history?limit=10`);
  },
});

const FAILURES = scenariosOf('failures', {
  'of a node': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, { assistant_id: 'failing', input: hello });
    await to.step('thread', 'GET', path);
    await to.step('state', 'GET', `${path}/state`);
    await to.step('runs', 'GET', `${path}/runs`);
    await to.step('stream', 'POST', `${path}/runs/stream`, {
      assistant_id: 'failing',
      input: hello,
      stream_mode: ['values', 'updates'],
    });
    await to.step('without a thread', 'POST', '/runs/wait', { assistant_id: 'failing', input: hello });
    const run = await background(to, path, { assistant_id: 'failing', input: hello });
    await to.step('join', 'GET', `${run}/join`);
    await to.step('run', 'GET', run);
    await to.step('goes on', 'POST', `${path}/runs/wait`, { assistant_id: 'talking', input: hello });
    await to.step('thread afterwards', 'GET', path);
  },
  'of a graph that does not end': async (to) => {
    const body = { assistant_id: 'circling', input: {}, config: { recursion_limit: 3 } };
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, body);
    await to.step('thread', 'GET', path);
    await to.step('stream', 'POST', '/runs/stream', { ...body, stream_mode: 'updates' });
  },
  'of an input that the state refuses': async (to) => {
    await to.step('a text', 'POST', '/runs/wait', { assistant_id: 'counter', input: 'what' });
    await to.step('no input', 'POST', '/runs/wait', { assistant_id: 'counter' });
    await to.step('null', 'POST', '/runs/wait', { assistant_id: 'counter', input: null });
    await to.step('a model', 'POST', '/runs/wait', {
      assistant_id: 'ordering',
      input: { item: 'tea', amount: 0 },
    });
    await to.step('an unknown field', 'POST', '/runs/wait', {
      assistant_id: 'counter',
      input: { colour: 'red' },
    });
    await to.step('a message', 'POST', '/runs/wait', {
      assistant_id: 'echo',
      input: { messages: [{ role: 'ghost' }] },
    });
  },
});

const COMMANDS = scenariosOf('interrupts', {
  'stop a run, and an answer resumes it': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, { assistant_id: 'approving', input: {} });
    await to.step('thread', 'GET', path);
    await to.step('state', 'GET', `${path}/state`);
    await to.step('runs', 'GET', `${path}/runs`);
    await to.step('resume', 'POST', `${path}/runs/wait`, {
      assistant_id: 'approving',
      command: { resume: 'yes' },
    });
    await to.step('thread afterwards', 'GET', path);
    await to.step('history', 'GET', `${path}/history?limit=10`);
  },
  stream: async (to) => {
    const path = await freshThread(to);
    const body = { assistant_id: 'approving', stream_mode: ['values', 'updates'] };
    await to.step('first', 'POST', `${path}/runs/stream`, { ...body, input: {} });
    await to.step('resume', 'POST', `${path}/runs/stream`, { ...body, command: { resume: { ok: true } } });
  },
  'are several': async (to) => {
    const path = await freshThread(to);
    const first = await to.prepare('POST', `${path}/runs/wait`, {
      assistant_id: 'twofold',
      input: { messages: [] },
    });
    const asked = (first.body as { __interrupt__: { id: string; value: string }[] }).__interrupt__;
    const resume = Object.fromEntries(asked.map(({ id, value }) => [id, `to ${value}`]));
    await to.step('values', 'GET', `${path}/state`);
    await to.step('resume', 'POST', `${path}/runs/wait`, { assistant_id: 'twofold', command: { resume } });
  },
  'stand before and behind nodes': async (to) => {
    const path = await freshThread(to);
    const body = { assistant_id: 'turning', stream_mode: ['values', 'updates'] };
    await to.step('before', 'POST', `${path}/runs/stream`, {
      ...body,
      input: { turn: 'left' },
      interrupt_before: ['left'],
    });
    await to.step('state', 'GET', `${path}/state`);
    await to.step('thread', 'GET', path);
    await to.step('on', 'POST', `${path}/runs/stream`, { ...body, input: null });
    const other = await freshThread(to);
    await to.step('behind all', 'POST', `${other}/runs/wait`, { ...body, input: {}, interrupt_after: '*' });
    await to.step('state behind', 'GET', `${other}/state`);
    await to.step('unknown node', 'POST', `${other}/runs/wait`, {
      ...body,
      input: {},
      interrupt_before: ['nobody'],
    });
  },
  'are commands to go on elsewhere': async (to) => {
    const path = await freshThread(to);
    const assistant_id = 'turning';
    await to.prepare('POST', `${path}/runs/wait`, {
      assistant_id,
      input: { turn: 'left' },
      interrupt_before: ['left'],
    });
    await to.step('goto', 'POST', `${path}/runs/wait`, { assistant_id, command: { goto: 'right' } });
    await to.step('state', 'GET', `${path}/state`);
    await to.step('update', 'POST', `${path}/runs/wait`, {
      assistant_id,
      command: { update: { path: ['by hand'] } },
    });
    await to.step('update as pairs', 'POST', `${path}/runs/wait`, {
      assistant_id,
      command: { update: [['path', ['a pair']]] },
    });
    await to.step('send', 'POST', `${path}/runs/wait`, {
      assistant_id,
      command: { goto: { node: 'left', input: { turn: 'sent' } } },
    });
    await to.step('goto an unknown node', 'POST', `${path}/runs/wait`, {
      assistant_id,
      command: { goto: 'absent' },
    });
    await to.step('command and input', 'POST', `${path}/runs/wait`, {
      assistant_id,
      input: {},
      command: { resume: 1 },
    });
    await to.step('resume and goto', 'POST', `${path}/runs/wait`, {
      assistant_id,
      command: { resume: 1, goto: 'left' },
    });
    await to.step('unknown command', 'POST', `${path}/runs/wait`, { assistant_id, command: { sing: true } });
    await to.step('empty command', 'POST', `${path}/runs/wait`, { assistant_id, command: {} });
  },
  'are inside of subgraphs': async (to) => {
    const path = await freshThread(to);
    const body = { assistant_id: 'nested', stream_mode: ['updates'], stream_subgraphs: true };
    await to.step('first', 'POST', `${path}/runs/stream`, { ...body, input: {} });
    await to.step('resume', 'POST', `${path}/runs/stream`, { ...body, command: { resume: 'here' } });
    await to.step('state', 'GET', `${path}/state`);
  },
});

export const RUN_SCENARIOS: readonly Scenario[] = [...WAITS, ...RUNS, ...FAILURES, ...COMMANDS];
