import { setTimeout as sleep } from 'node:timers/promises';
import { scenariosOf, textAt, freshThread, type Scenario } from './scenario.js';

const NOWHERE = '00000000-0000-4000-8000-000000000000';

const STORE = scenariosOf('store', {
  'keeps items': async (to) => {
    const namespace = ['compared', 'items'];
    await to.step('put', 'PUT', '/store/items', { namespace, key: 'a', value: { colour: 'red', n: 1 } });
    await to.step('get', 'GET', '/store/items?namespace=compared.items&key=a');
    await to.step('put again', 'PUT', '/store/items', { namespace, key: 'a', value: { colour: 'blue' } });
    await to.step('get again', 'GET', '/store/items?namespace=compared.items&key=a');
    await to.step('get unknown', 'GET', '/store/items?namespace=compared.items&key=b');
    await to.step('remove', 'DELETE', '/store/items', { namespace, key: 'a' });
    await to.step('remove again', 'DELETE', '/store/items', { namespace, key: 'a' });
    await to.step('get removed', 'GET', '/store/items?namespace=compared.items&key=a');
  },
  searches: async (to) => {
    const items = { one: { n: 1, kind: 'odd' }, two: { n: 2, kind: 'even' }, three: { n: 3, kind: 'odd' } };
    for (const [key, value] of Object.entries(items))
      await to.prepare('PUT', '/store/items', { namespace: ['searched', key], key, value, index: false });
    const namespace_prefix = ['searched'];
    const search = (step: string, body: object) =>
      to.step(step, 'POST', '/store/items/search', { namespace_prefix, ...body });
    await search('all', {});
    await search('by a value', { filter: { kind: 'odd' } });
    await search('by an operator', { filter: { n: { $gt: 1 } } });
    await search('not equal', { filter: { n: { $ne: 2 } } });
    await search('unknown operator', { filter: { n: { $about: 2 } } });
    await search('a page', { limit: 1, offset: 1 });
    await to.step('below one', 'POST', '/store/items/search', { namespace_prefix: ['searched', 'two'] });
    await to.step('no prefix', 'POST', '/store/items/search', { namespace_prefix: ['no', 'such'] });
    await to.step('namespaces', 'POST', '/store/namespaces', { prefix: ['searched'] });
    await to.step('namespaces, one level', 'POST', '/store/namespaces', {
      prefix: ['searched'],
      max_depth: 1,
    });
    await to.step('namespaces by suffix', 'POST', '/store/namespaces', {
      prefix: ['searched'],
      suffix: ['two'],
    });
    await to.step('namespaces, a page', 'POST', '/store/namespaces', {
      prefix: ['searched'],
      limit: 1,
      offset: 1,
    });
  },
  'ranks by meaning': async (to) => {
    for (const text of ['aaa', 'abb', 'bbb'])
      await to.prepare('PUT', '/store/items', { namespace: ['ranked'], key: text, value: { text } });
    // the reference server ranks an item some time after it was put
    await sleep(2_000);
    await to.step('search', 'POST', '/store/items/search', {
      namespace_prefix: ['ranked'],
      query: 'a',
      limit: 2,
    });
  },
  'refuses what it cannot keep': async (to) => {
    await to.step('no namespace', 'PUT', '/store/items', { key: 'a', value: {} });
    await to.step('empty namespace', 'PUT', '/store/items', { namespace: [], key: 'a', value: {} });
    await to.step('dot in a name', 'PUT', '/store/items', { namespace: ['a.b'], key: 'a', value: {} });
    await to.step('empty name', 'PUT', '/store/items', { namespace: [''], key: 'a', value: {} });
    await to.step('own name', 'PUT', '/store/items', { namespace: ['langgraph'], key: 'a', value: {} });
    await to.step('value that is a text', 'PUT', '/store/items', {
      namespace: ['x'],
      key: 'a',
      value: 'text',
    });
    await to.step('no key', 'PUT', '/store/items', { namespace: ['x'], value: {} });
    await to.step('get without a key', 'GET', '/store/items?namespace=x');
    await to.step('search without a prefix', 'POST', '/store/items/search', {});
  },
  'is shared with graphs': async (to) => {
    const input = { place: 'graph', word: 'tea' };
    await to.step('wait', 'POST', '/runs/wait', { assistant_id: 'remembering', input });
    await to.step('get', 'GET', '/store/items?namespace=words.graph&key=tea');
  },
});

const CRONS = scenariosOf('crons', {
  'are made, changed and removed': async (to) => {
    const created = await to.step('create', 'POST', '/runs/crons', {
      schedule: '5 4 1 1 *',
      assistant_id: 'counter',
      input: { steps: [] },
      metadata: { mark: 'cron-life' },
    });
    const id = textAt(created, 'cron_id');
    await to.step('search', 'POST', '/runs/crons/search', { metadata: { mark: 'cron-life' } });
    await to.step('count', 'POST', '/runs/crons/count', { metadata: { mark: 'cron-life' } });
    await to.step('change', 'PATCH', `/runs/crons/${id}`, { enabled: false });
    await to.step('change schedule', 'PATCH', `/runs/crons/${id}`, { schedule: '6 4 1 1 *' });
    await to.step('remove', 'DELETE', `/runs/crons/${id}`);
    await to.step('remove again', 'DELETE', `/runs/crons/${id}`);
  },
  'stand on a thread': async (to) => {
    const path = await freshThread(to);
    const created = await to.step('create', 'POST', `${path}/runs/crons`, {
      schedule: '5 4 1 1 *',
      assistant_id: 'counter',
      input: {},
      timezone: 'Europe/Oslo',
    });
    await to.step('search', 'POST', '/runs/crons/search', { thread_id: path.split('/').at(-1) });
    await to.step('remove', 'DELETE', `/runs/crons/${textAt(created, 'cron_id')}`);
  },
  'are refused': async (to) => {
    await to.step('bad schedule', 'POST', '/runs/crons', {
      schedule: 'now and then',
      assistant_id: 'counter',
    });
    await to.step('no schedule', 'POST', '/runs/crons', { assistant_id: 'counter' });
    await to.step('unknown graph', 'POST', '/runs/crons', { schedule: '5 4 1 1 *', assistant_id: 'nothing' });
    await to.step('unknown timezone', 'POST', '/runs/crons', {
      schedule: '5 4 1 1 *',
      assistant_id: 'counter',
      timezone: 'Europe/Atlantis',
    });
    await to.step('unknown thread', 'POST', `/threads/${NOWHERE}/runs/crons`, {
      schedule: '5 4 1 1 *',
      assistant_id: 'counter',
    });
    await to.step('change unknown', 'PATCH', `/runs/crons/${NOWHERE}`, { enabled: false });
    await to.step('remove unknown', 'DELETE', `/runs/crons/${NOWHERE}`);
  },
});

const SERVER = scenariosOf('server', {
  'answers about itself': async (to) => {
    await to.step('ok', 'GET', '/ok');
    await to.step('ok with database', 'GET', '/ok?check_db=1');
    await to.step('info', 'GET', '/info');
    await to.step('unknown route', 'GET', '/no/such/route');
    await to.step('wrong method', 'PUT', '/threads');
    await to.step('broken JSON', 'POST', '/threads', '{');
  },
});

export const STORE_SCENARIOS: readonly Scenario[] = [...STORE, ...CRONS, ...SERVER];
