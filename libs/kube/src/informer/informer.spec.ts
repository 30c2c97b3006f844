import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { API_SERVERS, waitFor, testKubeClient } from '#lib/testing';
import { KubeClient } from '../client/kube-client.js';
import { CONFIG_MAPS, type ConfigMap } from '#lib/resources';
import { FaultyProxy } from '../testdata/faulty-proxy.js';
import { Informer } from './informer.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const selection = { namespace: 'default', labelSelector: 'test=informer' };

describe.each(API_SERVERS)('Informer towards $name', ({ home }) => {
  const server = home();
  const direct = testKubeClient(server);
  let proxied: KubeClient;
  let proxy: FaultyProxy;
  let informer: Informer<ConfigMap>;
  let seen: string[];

  beforeEach(async () => {
    const { items } = await direct.list(CONFIG_MAPS, selection);
    for (const { metadata } of items)
      await direct.delete(CONFIG_MAPS, { namespace: 'default', name: metadata.name });
    proxy = new FaultyProxy(direct.connection);
    proxied = new KubeClient(await proxy.start());
    informer = new Informer({
      client: proxied,
      ref: CONFIG_MAPS,
      selection,
      log: silent,
      silentForMs: 1_500,
    });
    seen = [];
    informer.on(({ kind, object }) =>
      seen.push(`${kind} ${object.metadata.name} ${object.data?.at ?? ''}`.trim()),
    );
  });
  afterEach(async () => {
    await informer.stop();
    await proxied.close();
    await proxy.stop();
  });

  async function put(name: string, at: string): Promise<ConfigMap> {
    const metadata = { namespace: 'default', name, labels: { test: 'informer' } };
    return await direct.apply(CONFIG_MAPS, { metadata, data: { at } });
  }
  const remove = (name: string): Promise<boolean> =>
    direct.delete(CONFIG_MAPS, { namespace: 'default', name });
  const begin = async (): Promise<void> => {
    informer.start();
    await informer.synced();
  };
  const toldLast = (text: string): Promise<boolean> =>
    waitFor(() => seen.at(-1) === text, { what: `"${text}" after ${seen.join(', ')}` });

  it('delivers the present objects and then their changes', async () => {
    await put('a', '1');
    await begin();
    expect(informer.list('default').map(({ data }) => data?.at)).toEqual(['1']);
    await put('a', '2');
    await remove('a');
    await toldLast('deleted a 2');
    expect(seen).toEqual(['added a 1', 'changed a 2', 'deleted a 2']);
    expect(informer.size).toBe(0);
  });

  it('lets a writer wait for its own write', async () => {
    await begin();
    const written = await put('a', '1');
    await informer.waitFor(written.metadata.resourceVersion ?? '');
    expect(informer.find({ namespace: 'default', name: 'a' })?.data?.at).toBe('1');
    await expect(informer.waitFor('9'.repeat(15), 50)).rejects.toThrow('was not seen within 50 ms');
  });

  it('goes on after its connections were reset', async () => {
    await begin();
    await waitFor(() => proxy.counts.watch > 0);
    proxy.reset();
    await put('a', '1');
    await toldLast('added a 1');
    expect(proxy.counts.list).toBe(1);
  });

  it('notices a half-open connection by its silence', async () => {
    await begin();
    await put('a', '1');
    await toldLast('added a 1');
    proxy.freeze();
    await put('a', '2');
    await toldLast('changed a 2');
    expect(proxy.counts.list).toBe(1);
  });

  it.each([
    ['when it connects', () => (proxy.refuseWatches = 1)],
    ['in the stream', () => (proxy.expireStreams = 1)],
  ])('lists again when its version is too old %s, and delivers deletions in between', async (_name, arm) => {
    await put('a', '1');
    await put('b', '1');
    await begin();
    await waitFor(() => proxy.counts.watch > 0);
    arm();
    await remove('a');
    await waitFor(() => seen.includes('deleted a 1'));
    proxy.reset();
    await put('b', '2');
    await toldLast('changed b 2');
    await waitFor(() => proxy.counts.list > 1);
    await remove('b');
    await toldLast('deleted b 2');
  });

  it('delivers an object that was replaced during an outage as deleted and added', async () => {
    const first = await put('a', '1');
    await begin();
    await waitFor(() => proxy.counts.watch > 0);
    proxy.refuseWatches = 1;
    proxy.freeze();
    await remove('a');
    const second = await put('a', '2');
    await toldLast('added a 2');
    expect(seen).toEqual(['added a 1', 'deleted a 1', 'added a 2']);
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
  });

  it('delivers a repeated event once', async () => {
    proxy.isDoubling = true;
    await begin();
    // one after the other: what comes in one piece would be repeated as a whole
    await put('a', '1');
    await toldLast('added a 1');
    await put('a', '2');
    await toldLast('changed a 2');
    await remove('a');
    await toldLast('deleted a 2');
    expect(seen).toEqual(['added a 1', 'changed a 2', 'deleted a 2']);
  });

  it('does not list a server to death that forgets every version', async () => {
    proxy.refuseWatches = 1_000_000;
    await begin();
    await waitFor(() => proxy.counts.watch >= 3);
    // pauses of at least 0.25 and 0.5 s are between the first three
    expect(proxy.counts.list).toBeLessThanOrEqual(4);
    proxy.refuseWatches = 0;
    await put('a', '1');
    await toldLast('added a 1');
  });

  it('delivers to the other handlers when one throws', async () => {
    const later: string[] = [];
    informer.on(() => {
      throw new Error('broken handler');
    });
    informer.on(({ object }) => later.push(object.metadata.name));
    await begin();
    await put('a', '1');
    await waitFor(() => later.length === 1);
  });

  it('finds objects by owner and by indexes of its own', async () => {
    informer.addIndex('at', ({ data }) => (data?.at === undefined ? [] : [data.at]));
    informer.addIndex('broken', () => {
      throw new Error('an object of another shape');
    });
    await put('a', 'x');
    await put('b', 'x');
    await begin();
    await put('b', 'y');
    await toldLast('changed b 2'.replace('2', 'y'));
    expect(informer.byIndex('at', 'x').map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(informer.byIndex('at', 'y').map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect(informer.byIndex('broken', 'x')).toEqual([]);
  });
});
