import { describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { at, listAt, textAt } from '#lib/kube-semantics';
import { testApi, type TestWatch } from '../testdata/test-api.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const seen = (watch: TestWatch) =>
  watch.events.map(({ type, object }) => `${type} ${textAt(object, ['metadata', 'name'])}`);

describe('a watch', () => {
  const api = testApi({ historyChanges: 100 });

  async function revision(): Promise<string> {
    return textAt((await api.admin.get(MAPS)).body, ['metadata', 'resourceVersion']);
  }

  it('sends existing objects as ADDED and then every change when it begins at no version', async () => {
    await api.admin.create(MAPS, { metadata: { name: 'first' } });
    const watch = api.admin.watch(`${MAPS}?watch=true&fieldSelector=metadata.name=first`);
    await waitFor(() => watch.events.length === 1);
    await api.admin.merge(`${MAPS}/first`, { data: { a: '1' } });
    await api.admin.delete(`${MAPS}/first`);
    await waitFor(() => watch.events.length === 3);
    watch.end();
    expect(seen(watch)).toEqual(['ADDED first', 'MODIFIED first', 'DELETED first']);
    const revisions = watch.events.map(({ object }) =>
      Number(textAt(object, ['metadata', 'resourceVersion'])),
    );
    expect([...revisions].sort((left, right) => left - right)).toEqual(revisions);
    expect(new Set(revisions).size).toBe(3);
  });

  it('sends ADDED for an object that begins to match its labels and DELETED for one that ceases to', async () => {
    await api.admin.create(MAPS, { metadata: { name: 'labelled' } });
    const watch = api.admin.watch(
      `${MAPS}?watch=true&labelSelector=a%3Db&resourceVersion=${await revision()}`,
    );
    for (const a of ['b', 'c', 'b', null])
      await api.admin.merge(`${MAPS}/labelled`, { metadata: { labels: { a } } });
    await waitFor(() => watch.events.length === 4);
    await api.admin.delete(`${MAPS}/labelled`);
    watch.end();
    expect(seen(watch)).toEqual(['ADDED labelled', 'DELETED labelled', 'ADDED labelled', 'DELETED labelled']);
    expect(at(watch.events[1]?.object, 'metadata', 'labels', 'a')).toBe('b');
  });

  it('leaves out who wrote what where it is asked to, as answers to writes do', async () => {
    const managersOf = (object: unknown): unknown => at(object, 'metadata', 'managedFields');
    const parameter = 'omitManagedFields=true';
    const since = await revision();
    const watches = [parameter, ''].map((words) =>
      api.admin.watch(`${MAPS}?watch=true&resourceVersion=${since}&${words}`),
    );
    const made = await api.admin.create(`${MAPS}?fieldManager=someone&${parameter}`, {
      metadata: { name: 'briefly' },
      data: { a: '1' },
    });
    for (const watch of watches) await waitFor(() => watch.events.length === 1);
    const [brief, full] = watches.map(({ events }) => events[0]?.object);
    expect([made.body, brief].map(managersOf)).toEqual([undefined, undefined]);
    expect(brief).toEqual(made.body);
    expect(managersOf(full)).toHaveLength(1);
    expect(managersOf((await api.admin.get(`${MAPS}/briefly`)).body)).toEqual(managersOf(full));
    for (const watch of watches) watch.end();
  });

  it('sends no event for a write that changes nothing', async () => {
    const { body } = await api.admin.create(MAPS, { metadata: { name: 'same' }, data: { a: '1' } });
    const watch = api.admin.watch(
      `${MAPS}?watch=true&resourceVersion=${textAt(body, ['metadata', 'resourceVersion'])}`,
    );
    const again = await api.admin.merge(`${MAPS}/same`, { data: { a: '1' } });
    expect(again.body).toEqual(body);
    await api.admin.create(MAPS, { metadata: { name: 'marker' } });
    await waitFor(() => watch.events.length > 0);
    watch.end();
    expect(seen(watch)).toEqual(['ADDED marker']);
  });

  it('ends with 410 in an ERROR event when its version is compacted', async () => {
    const old = await revision();
    for (let index = 0; index < 150; index++)
      await api.admin.merge(`${MAPS}/same`, { data: { a: `v${index}` } });
    const watch = api.admin.watch(`${MAPS}?watch=true&resourceVersion=${old}`);
    await watch.ended;
    expect(watch.events).toHaveLength(1);
    expect(watch.events[0]?.type).toBe('ERROR');
    expect(at(watch.events[0]?.object, 'code')).toBe(410);
    expect(textAt(watch.events[0]?.object, ['message'])).toMatch(/^too old resource version: \d+ \(\d+\)$/);
  });

  it('has a watch list again instead of parsing megabytes of what was', async () => {
    await api.admin.create(MAPS, { metadata: { name: 'large' } });
    const since = await revision();
    for (let index = 0; index < 5; index++)
      await api.admin.merge(`${MAPS}/large`, { data: { a: `${index}`.repeat(1_000_000) } });
    const selected = api.admin.watch(`${MAPS}?watch=true&resourceVersion=${since}&labelSelector=a%3Db`);
    await selected.ended;
    expect(selected.events.map(({ type, object }) => [type, at(object, 'code')])).toEqual([['ERROR', 410]]);
    const all = api.admin.watch(`${MAPS}?watch=true&resourceVersion=${since}`);
    await waitFor(() => all.events.length === 5);
    all.end();
    await api.admin.delete(`${MAPS}/large`);
  });

  it.each(['Table', 'PartialObjectMetadata'])('prints no megabytes at once to begin with: %s', async (as) => {
    const names = ['l0', 'l1', 'l2', 'l3', 'l4'];
    for (const name of names)
      await api.admin.create(MAPS, { metadata: { name }, data: { a: 'x'.repeat(1_000_000) } });
    const accept = `application/json;as=${as};v=v1;g=meta.k8s.io`;
    const refused = await api.admin.call('GET', `${MAPS}?watch=true&timeoutSeconds=1`, { accept });
    expect(refused.code).toBe(400);
    expect(textAt(refused.body, ['message'])).toMatch(/^a watch of tables or metadata may begin with/);
    const version = await revision();
    for (const query of [`resourceVersion=${version}`, 'fieldSelector=metadata.name=l0']) {
      const watch = await api.admin.call('GET', `${MAPS}?watch=true&timeoutSeconds=1&${query}`, { accept });
      expect(watch.code).toBe(200);
    }
    for (const name of names) await api.admin.delete(`${MAPS}/${name}`);
  });

  it('streams the list and marks its end when asked for initial events', async () => {
    const query =
      'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    const watch = api.admin.watch(`${MAPS}?${query}`);
    await waitFor(() => watch.events.at(-1)?.type === 'BOOKMARK');
    watch.end();
    expect(watch.events.slice(0, -1).every(({ type }) => type === 'ADDED')).toBe(true);
    expect(at(watch.events.at(-1)?.object, 'metadata', 'annotations')).toEqual({
      'k8s.io/initial-events-end': 'true',
    });
  });

  it.each(['', '&resourceVersion=0'])(
    'begins with the next change when no initial events are wanted%s',
    async (version) => {
      const query = 'watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan';
      const watch = api.admin.watch(`${MAPS}?${query}${version}`);
      // the watch may be there a moment after its request was sent
      await waitFor(async () => {
        await api.admin.merge(`${MAPS}/same`, { data: { now: String(performance.now()) } });
        return watch.events.length > 0;
      });
      watch.end();
      expect(new Set(seen(watch))).toEqual(new Set(['MODIFIED same']));
    },
  );

  it('ends after timeoutSeconds with a bookmark of its position', async () => {
    const watch = api.admin.watch(
      `${MAPS}?watch=true&resourceVersion=${await revision()}&timeoutSeconds=1&allowWatchBookmarks=true`,
    );
    await watch.ended;
    expect(watch.events.map(({ type }) => type)).toEqual(['BOOKMARK']);
    expect(textAt(watch.events[0]?.object, ['metadata', 'resourceVersion'])).toBe(await revision());
  });

  it('writes rows of tables, with the columns in the first event only', async () => {
    const watch = api.admin.watch(
      `${MAPS}?watch=true`,
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
    );
    await waitFor(() => watch.events.length >= 2);
    watch.end();
    expect(
      listAt(watch.events[0]?.object, 'columnDefinitions').map((column) => textAt(column, ['name'])),
    ).toEqual(['Name', 'Data', 'Age']);
    expect(at(watch.events[1]?.object, 'columnDefinitions')).toBeNull();
    expect(at(watch.events[1]?.object, 'rows', 0, 'object', 'kind')).toBe('PartialObjectMetadata');
  });

  it('sends every change of many writers once and in order', async () => {
    const watch = api.admin.watch(`${MAPS}?watch=true&resourceVersion=${await revision()}`);
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        await api.admin.create(MAPS, { metadata: { name: `many-${index}` } });
        await api.admin.delete(`${MAPS}/many-${index}`);
      }),
    );
    await waitFor(() => watch.events.length >= 120);
    watch.end();
    const revisions = watch.events.map(({ object }) =>
      Number(textAt(object, ['metadata', 'resourceVersion'])),
    );
    expect(revisions).toEqual([...new Set(revisions)].sort((left, right) => left - right));
    expect(revisions).toHaveLength(120);
  });
});
