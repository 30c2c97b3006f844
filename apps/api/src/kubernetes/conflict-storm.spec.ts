import { describe, expect, it } from '@jest/globals';
import { Informers, isConflict } from '#lib/kube';
import { type AgentDeployment, RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { testApi } from '../testdata/test-api.js';
import { ResourceHome } from './resource-home.js';

const REF = RESOURCES.AgentDeployment;
const SHARED = 'storm.test/all';
const CHANGES = 25;
const numberOf = ({ metadata }: AgentDeployment, name: string): number =>
  Number(metadata.annotations?.[name] ?? 0);
const withNumber = (object: AgentDeployment, name: string, value: number): AgentDeployment => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [name]: String(value) } },
});

describe('writers of one resource', () => {
  const { api, tenant } = testApi();

  it('loses no change of any of them, however they write', async () => {
    const { client } = api;
    const informers = new Informers({ client, log: createLogger('test', 'silent') });
    const home = new ResourceHome(client, informers.of(REF, { namespace: tenant.namespace }), {
      clock: systemClock,
      random: Math.random,
    });
    informers.start();
    await informers.synced();
    const key = { namespace: tenant.namespace, name: 'storm' };
    const spec = { source: 'internal_image', sourceRevisionConfig: { imageUri: 'x' } };
    await home.create({ metadata: key, spec: spec as AgentDeployment['spec'] });

    let acknowledged = 0;
    /** Acts as the api for a request: reads, changes and writes, again after a conflict. */
    const rest = async (name: string): Promise<void> => {
      for (let done = 0; done < CHANGES; done++)
        try {
          await home.change(key, (object) =>
            withNumber(
              withNumber(object, name, numberOf(object, name) + 1),
              SHARED,
              numberOf(object, SHARED) + 1,
            ),
          );
          acknowledged++;
        } catch (error) {
          // refused after its tries: nothing of it may be there
          if (!isConflict(error)) throw error;
        }
    };
    /** Acts as kubectl and programs that own some fields. */
    const apply = async (name: string): Promise<void> => {
      for (let count = 1; count <= CHANGES; count++)
        await client.apply(REF, { metadata: { ...key, annotations: { [name]: String(count) } } });
    };
    const merge = async (name: string): Promise<void> => {
      for (let count = 1; count <= CHANGES; count++)
        await client.merge(REF, key, { metadata: { annotations: { [name]: String(count) } } });
    };
    /** Acts as a controller, which writes beside the spec. */
    const report = async (): Promise<void> => {
      for (let count = 1; count <= CHANGES; count++)
        await client.mergeStatus(REF, key, { status: { observedGeneration: count } });
    };
    await Promise.all([
      ...['storm.test/a', 'storm.test/b', 'storm.test/c'].map(rest),
      apply('storm.test/d'),
      ...['storm.test/e', 'storm.test/f'].map(merge),
      report(),
    ]);

    const after = await client.get(REF, key);
    expect(numberOf(after, SHARED)).toBe(acknowledged);
    expect(acknowledged).toBeGreaterThan(CHANGES);
    const byWriter = ['a', 'b', 'c'].map((name) => numberOf(after, `storm.test/${name}`));
    expect(byWriter.reduce((sum, one) => sum + one, 0)).toBe(acknowledged);
    for (const name of ['d', 'e', 'f'])
      expect([name, numberOf(after, `storm.test/${name}`)]).toEqual([name, CHANGES]);
    expect(after.status?.observedGeneration).toBe(CHANGES);
    await informers.stop();
  });
});
