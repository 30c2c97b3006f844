import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Listener, listenerKeyName, NAMESPACES, SECRETS } from '#lib/resources';
import { FakeClock, testEmbeddedKube, testKubeClient } from '#lib/testing';
import { ListenerKeys } from './listener-reconciler.js';

const namespace = 'ws';

function listener(name: string, uid = '6f0c7b58-8a39-4f0e-9d3c-6f1f6c6f2a11'): Listener {
  return {
    apiVersion: 'agentplane.dev/v1alpha1',
    kind: 'Listener',
    metadata: { namespace, name, uid },
    spec: { computeType: 'cluster', computeId: name },
  };
}

describe('ListenerKeys', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);

  beforeAll(async () => {
    await client.create(NAMESPACES, { metadata: { name: namespace } });
  });

  const at = (name: string) => ({ namespace, name: listenerKeyName(name) });
  const keyOf = async (name: string) => (await client.get(SECRETS, at(name))).data?.['key'];

  it('makes a key once, of 32 bytes, whichever controller looks', async () => {
    const mark = await new ListenerKeys(client, new FakeClock()).ensure(listener('once'));
    const key = Buffer.from((await keyOf('once')) ?? '', 'base64').toString('utf8');
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(mark).toMatch(/^[0-9a-f]{16}$/);
    expect(key).not.toContain(mark);
    expect(await new ListenerKeys(client, new FakeClock()).ensure(listener('once'))).toBe(mark);
  });

  it('makes another within a minute of its deletion, and fills one that is empty', async () => {
    const clock = new FakeClock();
    const keys = new ListenerKeys(client, clock);
    const first = await keys.ensure(listener('replaced'));
    await client.delete(SECRETS, at('replaced'));
    expect(await keys.ensure(listener('replaced'))).toBe(first);
    await clock.advance(60_000);
    const second = await keys.ensure(listener('replaced'));
    expect(second).not.toBe(first);
    await client.merge(SECRETS, at('replaced'), { data: { key: '' } });
    await clock.advance(60_000);
    expect([first, second]).not.toContain(await keys.ensure(listener('replaced')));
    expect(await keyOf('replaced')).not.toBe('');
  });

  it('takes no Secret of another owner, and waits for the end of one of a former Listener', async () => {
    await client.create(SECRETS, { metadata: at('taken'), data: { key: 'aw==' } });
    await expect(new ListenerKeys(client, new FakeClock()).ensure(listener('taken'))).rejects.toMatchObject({
      reason: 'NotOurs',
    });
    await new ListenerKeys(client, new FakeClock()).ensure(listener('former'));
    const again = listener('former', '0b7c1f9e-2a3d-4c5e-8f60-718293a4b5c6');
    await expect(new ListenerKeys(client, new FakeClock()).ensure(again)).rejects.toMatchObject({
      reason: 'Deleting',
    });
  });
});
