import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testApi } from '../testdata/test-api.js';

const DELETED = { status: 200, json: { deleted_runs: 1 } };
const NOTHING = { status: 200, json: { deleted_runs: 0 } };

describe('POST /runs/delete', () => {
  const { api, tenant } = testApi();
  let ownKey: string;
  const projects = new Map<string, string>();

  beforeAll(async () => {
    const grant = { scope: 'deployment', deployment: 'agent', project: 'own' } as const;
    ({ key: ownKey } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'own', ...grant }));
    for (const name of ['own', 'another'])
      projects.set(name, (await api.store.projects.ensure(tenant.tenantId, name)).id);
  });

  const trace = async (project: string, more: object = {}): Promise<string> => {
    const id = randomUUID();
    const start_time = '2026-11-20T10:00:00Z';
    const run = {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'chain',
      session_name: project,
      start_time,
      ...more,
    };
    expect((await tenant.call('POST', '/runs', run)).status).toBe(202);
    return id;
  };
  const erase = (body: object, key = tenant.key, prefix = '') =>
    tenant.call('POST', `${prefix}/runs/delete`, body, { 'x-api-key': key });
  const exists = async (id: string) => (await tenant.call('GET', `/runs/${id}`)).status === 200;

  it.each(['', '/api/v1'])('deletes traces that a key of the workspace names, at %j', async (prefix) => {
    const [one, other] = [await trace('another'), await trace('another')];
    const session_id = projects.get('another');
    expect(await erase({ session_id, trace_ids: [one] }, tenant.key, prefix)).toMatchObject(DELETED);
    expect([await exists(one), await exists(other)]).toEqual([false, true]);
    const late = await tenant.call('POST', '/runs/batch', {
      post: [{ id: randomUUID(), trace_id: one, name: 'n', run_type: 'llm', session_name: 'another' }],
    });
    expect(late).toMatchObject({ status: 202, json: { message: expect.stringContaining('deleted traces') } });
  });

  it.each(['2026-11-20T10:00:00.000500', '2026-11-20 11:00:00.0005+01'])(
    'deletes what a thread began until %s, to the microsecond',
    async (began_by) => {
      const thread_id = randomUUID();
      const began = (fraction: string) =>
        trace('another', {
          start_time: `2026-11-20T10:00:00.${fraction}Z`,
          extra: { metadata: { thread_id } },
        });
      const [until, after] = [await began('000500'), await began('000501')];
      const session_id = projects.get('another');
      expect(await erase({ session_id, thread_ids: [thread_id], began_by })).toMatchObject(DELETED);
      expect([await exists(until), await exists(after)]).toEqual([false, true]);
    },
  );

  it("lets a deployment's own key delete traces and threads of its own project alone", async () => {
    const thread = { extra: { metadata: { thread_id: 'of both' } } };
    const [own, named] = [await trace('own'), await trace('own', thread)];
    const foreign = await trace('another', thread);
    const both = { trace_ids: [foreign], thread_ids: ['of both'] };
    const elsewhere = await erase({ ...both, session_id: projects.get('another') }, ownKey);
    expect(elsewhere.status).toBe(404);
    expect(await erase(both, ownKey)).toMatchObject(DELETED);
    expect([await exists(own), await exists(named), await exists(foreign)]).toEqual([true, false, true]);
    expect(await erase({ trace_ids: [own] }, ownKey)).toMatchObject(DELETED);
    expect(await erase({ trace_ids: [own] }, ownKey)).toMatchObject(NOTHING);
    // what the own project refuses from now on, the other one still takes
    const child = { id: randomUUID(), trace_id: foreign, name: 'n', run_type: 'llm' };
    await tenant.call('POST', '/runs', { ...child, session_name: 'another' });
    expect(await exists(child.id)).toBe(true);
  });

  it('refuses what names nothing, no project, or no id', async () => {
    const session_id = projects.get('another');
    expect((await erase({ session_id })).status).toBe(400);
    expect((await erase({ trace_ids: [randomUUID()] })).status).toBe(422);
    expect((await erase({ session_id, trace_ids: ['x'] })).status).toBe(422);
    expect((await erase({ session_id, metadata: { user: ['a'] } })).status).toBe(422);
    expect((await erase({ session_id: randomUUID(), trace_ids: [randomUUID()] })).status).toBe(404);
    const many = Array.from({ length: 1_001 }, () => randomUUID());
    expect((await erase({ session_id, trace_ids: many })).status).toBe(422);
  });
});
