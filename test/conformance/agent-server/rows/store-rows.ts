import { randomUUID } from 'node:crypto';
import { newerSdkRows, sdkRows, statusOf } from '../clients/sdk-client.js';

export const STORE_ROWS = sdkRows({
  'puts, changes, shows and deletes an item': async ({ store }) => {
    const place = ['users', randomUUID()];
    expect(await store.getItem(place, 'profile')).toBeNull();
    await store.putItem(place, 'profile', { name: 'Ada', tags: ['a', { b: null }] });
    const made = await store.getItem(place, 'profile');
    expect(made).toMatchObject({
      namespace: place,
      key: 'profile',
      value: { name: 'Ada', tags: ['a', { b: null }] },
      createdAt: expect.any(String) as unknown,
      updatedAt: expect.any(String) as unknown,
    });
    await store.putItem(place, 'profile', { name: 'Countess' });
    const changed = await store.getItem(place, 'profile');
    expect(changed).toMatchObject({ value: { name: 'Countess' }, createdAt: made?.createdAt });
    expect(Date.parse(changed?.updatedAt ?? '')).toBeGreaterThan(Date.parse(made?.updatedAt ?? ''));
    await store.deleteItem(place, 'profile');
    await store.deleteItem(place, 'profile');
    expect(await store.getItem(place, 'profile')).toBeNull();
  },
  'searches items below a namespace by fields and comparisons, page by page': async ({ store }) => {
    const root: string = randomUUID();
    for (const [n, kind] of ['even', 'odd', 'even', 'odd'].entries())
      await store.putItem([root, kind], `item ${n}`, { n, kind });
    const keys = async (more: object, prefix = [root]) =>
      (await store.searchItems(prefix, more)).items.map(({ key }) => key).sort();
    expect(await keys({})).toEqual(['item 0', 'item 1', 'item 2', 'item 3']);
    expect(await keys({}, [root, 'odd'])).toEqual(['item 1', 'item 3']);
    expect(await keys({ filter: { kind: 'even' } })).toEqual(['item 0', 'item 2']);
    expect(await keys({ filter: { n: { $gte: 2 } } })).toEqual(['item 2', 'item 3']);
    expect(await keys({ filter: { n: { $ne: 0, $lt: 3 } } })).toEqual(['item 1', 'item 2']);
    const pages = [await keys({ limit: 3 }), await keys({ limit: 3, offset: 3 })];
    expect(pages.flat().sort()).toEqual(['item 0', 'item 1', 'item 2', 'item 3']);
  },
  'ranks items by meaning': async ({ store }) => {
    const root: string = randomUUID();
    for (const word of ['banana', 'cherry', 'xylophone']) await store.putItem([root], word, { word });
    const { items } = await store.searchItems([root], { query: 'nab', limit: 2 });
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({ key: 'banana', score: expect.any(Number) as unknown });
    const [first, second] = items.map(({ score }) => score ?? 0);
    expect(first).toBeGreaterThan(second ?? 1);
  },
  'lists namespaces by prefix, suffix and depth': async ({ store }) => {
    const root = randomUUID();
    for (const place of [
      ['a', 'x'],
      ['a', 'y', 'z'],
      ['b', 'x'],
    ])
      await store.putItem([root, ...place], 'k', {});
    const listed = async (more: object) =>
      (await store.listNamespaces({ prefix: [root], ...more })).namespaces;
    expect(await listed({})).toHaveLength(3);
    expect(await listed({ prefix: [root, 'a'] })).toHaveLength(2);
    expect((await listed({ suffix: ['x'] })).map(([, name]) => name).sort()).toEqual(['a', 'b']);
    expect((await listed({ maxDepth: 2 })).map(([, name]) => name).sort()).toEqual(['a', 'b']);
    expect(await listed({ limit: 1, offset: 2 })).toHaveLength(1);
  },
  'shows the items of graphs, and graphs those of clients': async ({ store, runs }) => {
    const place = randomUUID();
    await store.putItem(['words', place], 'first', { word: 'first' });
    const values = await runs.wait(null, 'remembering', { input: { place, word: 'second' } });
    expect(values).toMatchObject({ seen: ['first', 'second'] });
    expect(await store.getItem(['words', place], 'second')).toMatchObject({ value: { word: 'second' } });
  },
  'refuses a namespace that stores cannot have': async ({ store }) => {
    for (const namespace of [[], ['a.b'], [''], ['langgraph', 'x']])
      expect([namespace, await statusOf(store.putItem(namespace, 'k', {}))]).not.toEqual([namespace, 200]);
  },
});

const CRON = { schedule: '0 9 * * MON-FRI', input: {} };

export const CRON_ROWS = [
  ...sdkRows({
    'creates, finds and deletes a cron': async ({ crons }) => {
      const metadata = { mark: randomUUID() };
      const made = await crons.create('counter', { ...CRON, metadata });
      const { cron_id: id } = made as unknown as { cron_id: string };
      expect(made).toMatchObject({
        schedule: CRON.schedule,
        next_run_date: expect.stringMatching(/T09:00:00/) as unknown,
      });
      const mine = async (): Promise<string[]> => {
        const found = await crons.search({
          assistantId: (made as unknown as { assistant_id: string }).assistant_id,
          limit: 1_000,
        });
        return found.map(({ cron_id }) => cron_id).filter((one) => one === id);
      };
      expect(await mine()).toEqual([id]);
      expect(await crons.count()).toBeGreaterThan(0);
      await crons.delete(id);
      expect(await mine()).toEqual([]);
      expect(await statusOf(crons.delete(id))).toBe(404);
    },
    'creates a cron of a thread, which ends with it': async ({ crons, threads }) => {
      const { thread_id: threadId } = await threads.create();
      const made = await crons.createForThread(threadId, 'counter', CRON);
      expect(made).toMatchObject({ thread_id: threadId });
      expect(await crons.search({ threadId })).toHaveLength(1);
      expect(await crons.count({ threadId })).toBe(1);
      await threads.delete(threadId);
      expect(await crons.search({ threadId })).toEqual([]);
    },
    'refuses a schedule that never fires': async ({ crons }) => {
      expect(await statusOf(crons.create('counter', { ...CRON, schedule: '61 * * * *' }))).toBe(422);
      expect(await statusOf(crons.create('counter', { ...CRON, schedule: 'soon' }))).toBe(422);
    },
  }),
  ...newerSdkRows({
    'changes, disables and enables a cron': async ({ crons }) => {
      const { cron_id: id } = await crons.create('counter', {
        ...CRON,
        timezone: 'Europe/Berlin',
        enabled: true,
      });
      const changed = await crons.update(id, {
        schedule: '0 10 * * *',
        timezone: 'UTC',
        metadata: { more: 1 },
      });
      expect(changed).toMatchObject({
        schedule: '0 10 * * *',
        metadata: { more: 1 },
        next_run_date: expect.stringContaining('T10:00:00') as unknown,
      });
      expect(await crons.update(id, { enabled: false })).toMatchObject({
        enabled: false,
        next_run_date: null,
      });
      expect(await crons.update(id, { enabled: true })).toMatchObject({
        next_run_date: changed.next_run_date,
      });
      await crons.delete(id);
    },
  }),
];
