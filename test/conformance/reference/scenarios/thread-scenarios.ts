import { freshThread, hello, scenariosOf, textAt, type Scenario } from './scenario.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

const LIFE = scenariosOf('threads', {
  'creates, changes and removes one': async (to) => {
    const created = await to.step('create', 'POST', '/threads', {});
    const path = `/threads/${textAt(created, 'thread_id')}`;
    await to.step('get', 'GET', path);
    await to.step('state', 'GET', `${path}/state`);
    await to.step('history', 'GET', `${path}/history?limit=10`);
    await to.step('runs', 'GET', `${path}/runs`);
    await to.step('change', 'PATCH', path, { metadata: { colour: 'red' } });
    await to.step('change again', 'PATCH', path, { metadata: { size: 1 } });
    await to.step('remove', 'DELETE', path);
    await to.step('get removed', 'GET', path);
    await to.step('remove again', 'DELETE', path);
  },
  'creates with an id': async (to) => {
    const thread_id = crypto.randomUUID();
    await to.step('create', 'POST', '/threads', { thread_id, metadata: { a: 1 } });
    await to.step('again', 'POST', '/threads', { thread_id });
    await to.step('again, do nothing', 'POST', '/threads', { thread_id, if_exists: 'do_nothing' });
    await to.step('no uuid', 'POST', '/threads', { thread_id: 'mine' });
    await to.step('unknown policy', 'POST', '/threads', { thread_id, if_exists: 'what' });
    await to.step('metadata that is a text', 'POST', '/threads', { metadata: 'none' });
  },
  'creates with steps': async (to) => {
    const created = await to.step('create', 'POST', '/threads', {
      metadata: { graph_id: 'counter' },
      supersteps: [
        { updates: [{ values: { steps: ['given'] }, as_node: '__input__' }] },
        { updates: [{ values: { steps: ['made'] }, as_node: 'count' }] },
      ],
    });
    const path = `/threads/${textAt(created, 'thread_id')}`;
    await to.step('state', 'GET', `${path}/state`);
    await to.step('history', 'GET', `${path}/history?limit=10`);
  },
  'searches and counts': async (to) => {
    const mark = { mark: `thread-search` };
    for (const n of [1, 2, 3]) await to.prepare('POST', '/threads', { metadata: { ...mark, n } });
    const order = { sort_by: 'created_at', sort_order: 'asc' };
    await to.step('by metadata', 'POST', '/threads/search', { metadata: mark, ...order });
    await to.step('a page', 'POST', '/threads/search', { metadata: mark, ...order, limit: 1, offset: 1 });
    await to.step('idle', 'POST', '/threads/search', { metadata: { ...mark, n: 2 }, status: 'idle' });
    await to.step('busy', 'POST', '/threads/search', { metadata: mark, status: 'busy' });
    await to.step('some fields', 'POST', '/threads/search', {
      metadata: mark,
      ...order,
      select: ['metadata', 'status'],
    });
    await to.step('count', 'POST', '/threads/count', { metadata: mark });
    await to.step('count of errors', 'POST', '/threads/count', { metadata: mark, status: 'error' });
    await to.step('unknown status', 'POST', '/threads/search', { status: 'asleep' });
    await to.step('unknown order', 'POST', '/threads/search', { sort_by: 'colour' });
    await to.step('limit of zero', 'POST', '/threads/search', { metadata: mark, limit: 0 });
    await to.step('too many', 'POST', '/threads/search', { limit: 100_000 });
  },
  'searches by values': async (to) => {
    const mark = { mark: 'thread-values' };
    const path = await freshThread(to, { metadata: mark });
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'turning', input: { turn: 'left' } });
    await to.step('found', 'POST', '/threads/search', { metadata: mark, values: { turn: 'left' } });
    await to.step('not found', 'POST', '/threads/search', { metadata: mark, values: { turn: 'right' } });
    await to.step('extracts', 'POST', '/threads/search', {
      metadata: mark,
      extract: { first: 'values.path[0]' },
    });
  },
  'names unknown ones': async (to) => {
    await to.step('get', 'GET', `/threads/${NOWHERE}`);
    await to.step('get by no uuid', 'GET', '/threads/mine');
    await to.step('change', 'PATCH', `/threads/${NOWHERE}`, { metadata: {} });
    await to.step('remove', 'DELETE', `/threads/${NOWHERE}`);
    await to.step('state', 'GET', `/threads/${NOWHERE}/state`);
    await to.step('history', 'GET', `/threads/${NOWHERE}/history`);
    await to.step('copy', 'POST', `/threads/${NOWHERE}/copy`);
    await to.step('runs', 'GET', `/threads/${NOWHERE}/runs`);
    await to.step('a run', 'GET', `/threads/${NOWHERE}/runs/${NOWHERE}`);
    await to.step('start a run', 'POST', `/threads/${NOWHERE}/runs`, { assistant_id: 'echo', input: hello });
    await to.step('wait for a run', 'POST', `/threads/${NOWHERE}/runs/wait`, {
      assistant_id: 'echo',
      input: hello,
    });
  },
  'is made for a run': async (to) => {
    const id = crypto.randomUUID();
    await to.step('wait', 'POST', `/threads/${id}/runs/wait`, {
      assistant_id: 'counter',
      input: {},
      if_not_exists: 'create',
    });
    await to.step('thread', 'GET', `/threads/${id}`);
  },
});

const STATES = scenariosOf('state', {
  'shows what a run has left': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, { assistant_id: 'talking', input: hello });
    await to.step('state', 'GET', `${path}/state`);
    await to.step('history', 'GET', `${path}/history?limit=10`);
    await to.step('history, two', 'GET', `${path}/history?limit=2`);
    await to.step('history without a limit', 'GET', `${path}/history`);
    await to.step('history by body', 'POST', `${path}/history`, { limit: 1 });
    await to.step('thread', 'GET', path);
  },
  'shows an earlier checkpoint, and what came before it': async (to) => {
    const path = await freshThread(to);
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'turning', input: { turn: 'left' } });
    const history = await to.prepare('GET', `${path}/history?limit=10`);
    const [, second] = history.body as { checkpoint: { checkpoint_id: string } }[];
    const checkpoint = second?.checkpoint;
    await to.step('by id', 'GET', `${path}/state/${checkpoint?.checkpoint_id ?? ''}`);
    await to.step('by body', 'POST', `${path}/state/checkpoint`, { checkpoint });
    await to.step('history before', 'POST', `${path}/history`, { before: { configurable: checkpoint } });
    await to.step('unknown', 'GET', `${path}/state/${NOWHERE}`);
  },
  'takes an update': async (to) => {
    const path = await freshThread(to);
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'counter', input: {} });
    await to.step('update', 'POST', `${path}/state`, { values: { steps: ['mine'] } });
    await to.step('state', 'GET', `${path}/state`);
    await to.step('as a node', 'POST', `${path}/state`, { values: { steps: ['as'] }, as_node: 'count' });
    await to.step('as an unknown node', 'POST', `${path}/state`, { values: {}, as_node: 'nobody' });
    await to.step('history', 'GET', `${path}/history?limit=10`);
    await to.step('thread', 'GET', path);
  },
  'refuses an update of a thread without a graph': async (to) => {
    const path = await freshThread(to);
    await to.step('update', 'POST', `${path}/state`, { values: { steps: ['mine'] } });
  },
  'goes on from an earlier checkpoint': async (to) => {
    const path = await freshThread(to);
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'turning', input: { turn: 'left' } });
    const history = await to.prepare('GET', `${path}/history?limit=10`);
    const before = (history.body as { next: string[]; checkpoint: { checkpoint_id: string } }[]).find(
      ({ next }) => next[0] === 'left',
    );
    await to.step('wait', 'POST', `${path}/runs/wait`, {
      assistant_id: 'turning',
      checkpoint_id: before?.checkpoint.checkpoint_id,
    });
    await to.step('from nowhere', 'POST', `${path}/runs/wait`, {
      assistant_id: 'turning',
      checkpoint_id: NOWHERE,
    });
  },
  'is copied': async (to) => {
    const path = await freshThread(to, { metadata: { mark: 'copied' } });
    await to.prepare('POST', `${path}/runs/wait`, { assistant_id: 'turning', input: { turn: 'left' } });
    const copied = await to.step('copy', 'POST', `${path}/copy`);
    const other = `/threads/${textAt(copied, 'thread_id')}`;
    await to.step('state', 'GET', `${other}/state`);
    await to.step('history', 'GET', `${other}/history?limit=10`);
    await to.step('wait', 'POST', `${other}/runs/wait`, {
      assistant_id: 'turning',
      input: { turn: 'right' },
    });
    await to.step('the first', 'GET', `${path}/state`);
  },
  'shows subgraphs that wait': async (to) => {
    const path = await freshThread(to);
    await to.step('wait', 'POST', `${path}/runs/wait`, { assistant_id: 'nested', input: {} });
    await to.step('state', 'GET', `${path}/state`);
    await to.step('with subgraphs', 'GET', `${path}/state?subgraphs=true`);
    await to.step('history', 'GET', `${path}/history?limit=10`);
  },
});

export const THREAD_SCENARIOS: readonly Scenario[] = [...LIFE, ...STATES];
