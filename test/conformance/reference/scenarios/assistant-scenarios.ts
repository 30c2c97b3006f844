import { scenariosOf, textAt, type Scenario } from './scenario.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

const GRAPHS = [
  'echo',
  'counter',
  'nested',
  'ordering',
  'tallying',
  'talking',
  'doubling',
  'turning',
  'housing',
  'advising',
  'made',
];

/** What callers learn of graphs: what they take, how they are drawn, what stands in them. */
const DESCRIPTIONS: Scenario[] = GRAPHS.flatMap((graph) =>
  scenariosOf('graph', {
    [`describes ${graph}`]: async (to) => {
      const found = await to.prepare('POST', '/assistants/search', { graph_id: graph });
      const [assistant] = found.body as { assistant_id: string }[];
      const path = `/assistants/${assistant?.assistant_id ?? ''}`;
      await to.step('assistant', 'GET', path);
      await to.step('schemas', 'GET', `${path}/schemas`);
      await to.step('drawing', 'GET', `${path}/graph`);
      await to.step('drawing with what is inside', 'GET', `${path}/graph?xray=true`);
      await to.step('drawing one level deep', 'GET', `${path}/graph?xray=1`);
      await to.step('subgraphs', 'GET', `${path}/subgraphs`);
      await to.step('subgraphs of subgraphs', 'GET', `${path}/subgraphs?recurse=true`);
    },
  }),
);

export const ASSISTANT_SCENARIOS: readonly Scenario[] = [
  ...DESCRIPTIONS,
  ...scenariosOf('assistants', {
    'creates, changes and removes one': async (to) => {
      const created = await to.step('create', 'POST', '/assistants', {
        graph_id: 'seeing',
        name: 'eyes',
        description: 'looks',
        config: { configurable: { word: 'one' }, tags: ['a'], recursion_limit: 7 },
        metadata: { mark: 'assistant-life' },
      });
      const path = `/assistants/${textAt(created, 'assistant_id')}`;
      await to.step('get', 'GET', path);
      await to.step('change', 'PATCH', path, { name: 'more eyes', metadata: { more: 1 } });
      await to.step('change config', 'PATCH', path, { config: { configurable: { word: 'two' } } });
      await to.step('versions', 'POST', `${path}/versions`, {});
      await to.step('one version', 'POST', `${path}/versions`, { limit: 1, offset: 1 });
      await to.step('set latest', 'POST', `${path}/latest`, { version: 1 });
      await to.step('get the first', 'GET', path);
      await to.step('set unknown latest', 'POST', `${path}/latest`, { version: 9 });
      await to.step('remove', 'DELETE', path);
      await to.step('remove again', 'DELETE', path);
      await to.step('get removed', 'GET', path);
    },
    'searches and counts': async (to) => {
      const mark = { mark: 'assistant-search' };
      for (const name of ['gamma', 'alpha', 'beta'])
        await to.prepare('POST', '/assistants', { graph_id: 'echo', name, metadata: { ...mark, name } });
      await to.step('by metadata', 'POST', '/assistants/search', {
        metadata: mark,
        sort_by: 'name',
        sort_order: 'asc',
      });
      await to.step('by name', 'POST', '/assistants/search', { metadata: mark, name: 'BET' });
      await to.step('a page', 'POST', '/assistants/search', {
        metadata: mark,
        sort_by: 'name',
        limit: 1,
        offset: 1,
      });
      await to.step('some fields', 'POST', '/assistants/search', {
        metadata: mark,
        sort_by: 'name',
        sort_order: 'desc',
        select: ['name', 'graph_id'],
      });
      await to.step('count', 'POST', '/assistants/count', { metadata: mark });
      await to.step('count of a graph', 'POST', '/assistants/count', { metadata: mark, graph_id: 'counter' });
      await to.step('unknown order', 'POST', '/assistants/search', { sort_by: 'colour' });
      await to.step('too many', 'POST', '/assistants/search', { limit: 100_000 });
      await to.step('negative offset', 'POST', '/assistants/search', { offset: -1 });
    },
    'refuses what it cannot make': async (to) => {
      await to.step('unknown graph', 'POST', '/assistants', { graph_id: 'nothing' });
      await to.step('no graph', 'POST', '/assistants', {});
      await to.step('id that is no uuid', 'POST', '/assistants', { graph_id: 'echo', assistant_id: 'mine' });
      await to.step('config that is a text', 'POST', '/assistants', { graph_id: 'echo', config: 'none' });
      const created = await to.prepare('POST', '/assistants', {
        graph_id: 'echo',
        metadata: { mark: 'twice' },
      });
      const id = textAt(created, 'assistant_id');
      await to.step('id twice', 'POST', '/assistants', { graph_id: 'echo', assistant_id: id });
      await to.step('id twice, do nothing', 'POST', '/assistants', {
        graph_id: 'echo',
        assistant_id: id,
        if_exists: 'do_nothing',
      });
      await to.step('context and config', 'POST', '/assistants', {
        graph_id: 'ordering',
        config: { configurable: { currency: 'EUR' } },
        context: { currency: 'NOK' },
      });
    },
    'names unknown ones': async (to) => {
      await to.step('get', 'GET', `/assistants/${NOWHERE}`);
      await to.step('get by no uuid', 'GET', '/assistants/no-assistant');
      await to.step('change', 'PATCH', `/assistants/${NOWHERE}`, { name: 'x' });
      await to.step('remove', 'DELETE', `/assistants/${NOWHERE}`);
      await to.step('schemas', 'GET', `/assistants/${NOWHERE}/schemas`);
      await to.step('drawing', 'GET', `/assistants/${NOWHERE}/graph`);
      await to.step('versions', 'POST', `/assistants/${NOWHERE}/versions`, {});
    },
    'gives a run its configuration': async (to) => {
      const created = await to.prepare('POST', '/assistants', {
        graph_id: 'ordering',
        context: { currency: 'NOK' },
      });
      const assistant_id = textAt(created, 'assistant_id');
      await to.step('its own', 'POST', '/runs/wait', { assistant_id, input: { item: 'tea' } });
      await to.step('of the run', 'POST', '/runs/wait', {
        assistant_id,
        input: { item: 'tea', amount: 2 },
        context: { currency: 'SEK' },
      });
    },
  }),
];
