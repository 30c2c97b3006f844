import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { KubeClient } from '#lib/kube';
import type { Pod, PodContainer } from '#lib/resources';
import { ContainerConfigError } from '../pod-values/pod-field.js';
import { Expander, References, resolveEnvironment } from './environment.js';

const POD = { metadata: { name: 'a', namespace: 'team' } } as Pod;
const CONTAINER: PodContainer = {
  name: 'main',
  image: 'x',
  envFrom: [{ secretRef: { name: 'env' } }],
  env: [
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'platform', key: 'value' } } },
    { name: 'URI', valueFrom: { secretKeyRef: { name: 'database', key: 'value' } } },
    { name: 'AGAIN', valueFrom: { secretKeyRef: { name: 'platform', key: 'value' } } },
  ],
};

describe('resolveEnvironment', () => {
  /** Answers once `together` reads are waiting. */
  function reads(together: number, missing?: string) {
    const asked: string[] = [];
    const all = Promise.withResolvers<void>();
    const find = async (_ref: object, { name }: { readonly name: string }): Promise<object | undefined> => {
      asked.push(name);
      if (asked.length === together) all.resolve();
      await all.promise;
      return name === missing ? undefined : { data: { value: Buffer.from(name).toString('base64') } };
    };
    return { asked, client: { find: find as KubeClient['find'] } };
  }

  it('reads each object once, and all of them at once', async () => {
    const { asked, client } = reads(3);
    expect(await resolveEnvironment(new References(client, 'team'), POD, CONTAINER, new Expander())).toEqual({
      value: 'env',
      KEY: 'platform',
      URI: 'database',
      AGAIN: 'platform',
    });
    expect(asked.toSorted()).toEqual(['database', 'env', 'platform']);
  });

  it('reads nothing anew that was begun to be read, and reads the rest', async () => {
    const { asked, client } = reads(3);
    const references = new References(client, 'team');
    references.begin({ ...CONTAINER, env: [] });
    expect(asked).toEqual(['env']);
    await resolveEnvironment(references, POD, CONTAINER, new Expander());
    expect(asked).toEqual(['env', 'platform', 'database']);
  });

  it('reads again what was not there when it was begun to be read', async () => {
    const present = reads(1).client.find;
    const asked: string[] = [];
    const find = async (ref: object, { name }: { readonly name: string }): Promise<object | undefined> =>
      asked.push(name) === 1 ? undefined : present(ref as never, { name });
    const references = new References({ find: find as KubeClient['find'] }, 'team');
    references.begin({ ...CONTAINER, env: [] });
    await setImmediate();
    const values = await resolveEnvironment(references, POD, CONTAINER, new Expander());
    expect([asked[0], values['value']]).toEqual(['env', 'env']);
  });

  it('names the first object that is missing', async () => {
    const { client } = reads(3, 'platform');
    await expect(
      resolveEnvironment(new References(client, 'team'), POD, CONTAINER, new Expander()),
    ).rejects.toThrow(new ContainerConfigError('Secret platform has no key value'));
  });
});
