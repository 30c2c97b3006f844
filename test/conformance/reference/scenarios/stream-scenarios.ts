import { freshThread, hello, scenariosOf, type Scenario } from './scenario.js';

const MODES = [
  'values',
  'updates',
  'messages-tuple',
  'messages',
  'custom',
  'events',
  'debug',
  'tasks',
  'checkpoints',
];

const GRAPHS: Readonly<Record<string, unknown>> = {
  talking: hello,
  advising: hello,
  slow: { waitMs: 1 },
  housing: hello,
  echo: hello,
};

const EACH = Object.entries(GRAPHS).flatMap(([assistant_id, input]) =>
  MODES.flatMap((stream_mode) =>
    scenariosOf('stream', {
      [`${stream_mode} of ${assistant_id}`]: async (to) => {
        const path = await freshThread(to);
        await to.step('on a thread', 'POST', `${path}/runs/stream`, { assistant_id, input, stream_mode });
        await to.step('without a thread', 'POST', '/runs/stream', { assistant_id, input, stream_mode });
      },
    }),
  ),
);

const REST = scenariosOf('stream', {
  'several modes': async (to) => {
    const body = { assistant_id: 'turning', input: { turn: 'left' } };
    await to.step('values, updates, debug', 'POST', '/runs/stream', {
      ...body,
      stream_mode: ['values', 'updates', 'debug'],
    });
    await to.step('by default', 'POST', '/runs/stream', body);
    await to.step('no mode', 'POST', '/runs/stream', { ...body, stream_mode: [] });
  },
  subgraphs: async (to) => {
    const body = { assistant_id: 'housing', input: hello, stream_subgraphs: true };
    for (const stream_mode of ['values', 'updates', 'messages-tuple', 'debug', 'tasks', 'checkpoints'])
      await to.step(stream_mode, 'POST', '/runs/stream', { ...body, stream_mode });
  },
  'nodes that are sent': async (to) => {
    await to.step('updates', 'POST', '/runs/stream', {
      assistant_id: 'sending',
      input: { words: ['one'] },
      stream_mode: ['updates', 'tasks'],
    });
  },
  'a functional graph': async (to) => {
    await to.step('updates', 'POST', '/runs/stream', {
      assistant_id: 'doubling',
      input: [1],
      stream_mode: ['values', 'updates'],
    });
  },
  'a run that is joined': async (to) => {
    const path = await freshThread(to);
    await to.head(
      ...(['head', `${path}/runs/stream`] as const),
      { assistant_id: 'slow', input: { waitMs: 400 }, stream_mode: ['updates'], on_disconnect: 'continue' },
      ({ event }) => event === 'updates',
    );
    const listed = await to.prepare('GET', `${path}/runs`);
    const [run] = listed.body as { run_id: string }[];
    await to.step('join', 'GET', `${path}/runs/${run?.run_id ?? ''}/stream?stream_mode=updates`);
    await to.step('run', 'GET', `${path}/runs/${run?.run_id ?? ''}`);
  },
  'a run that may be read again': async (to) => {
    const path = await freshThread(to);
    await to.step('first', 'POST', `${path}/runs/stream`, {
      assistant_id: 'turning',
      input: {},
      stream_mode: ['updates'],
      stream_resumable: true,
    });
    const listed = await to.prepare('GET', `${path}/runs`);
    const [run] = listed.body as { run_id: string }[];
    await to.step('again', 'GET', `${path}/runs/${run?.run_id ?? ''}/stream`);
  },
  'a client that leaves': async (to) => {
    const path = await freshThread(to);
    await to.head(
      ...(['head', `${path}/runs/stream`] as const),
      { assistant_id: 'slow', input: { waitMs: 1_000 }, stream_mode: ['custom'], on_disconnect: 'cancel' },
      ({ event }) => event === 'custom',
    );
    const listed = await to.prepare('GET', `${path}/runs`);
    const [run] = listed.body as { run_id: string }[];
    await to.prepare('GET', `${path}/runs/${run?.run_id ?? ''}/join`);
    await to.step('run', 'GET', `${path}/runs/${run?.run_id ?? ''}`);
  },
});

export const STREAM_SCENARIOS: readonly Scenario[] = [...EACH, ...REST];
