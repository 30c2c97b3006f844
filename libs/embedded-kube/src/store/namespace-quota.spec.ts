import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseAmounts, textAt } from '#lib/kube-semantics';
import { waitFor } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';
import type { NamespaceQuota } from './namespace-quota.js';

const QUOTA: NamespaceQuota = {
  appliesTo: (namespace) => namespace.startsWith('ws-'),
  objects: 6,
  kinds: { services: 3, secrets: 2 },
  letters: 40_000,
  ports: 5,
  requests: parseAmounts({ cpu: '2', memory: '1Gi', pods: '3' }),
  advice: 'QUOTA',
};

const service = (name: string, ports: number) => ({
  metadata: { name },
  spec: {
    selector: { app: 'a' },
    ports: Array.from({ length: ports }, (_, n) => ({ name: `p${n}`, port: 1000 + n })),
  },
});
const map = (name: string, letters = 1) => ({ metadata: { name }, data: { x: 'x'.repeat(letters) } });

describe('a namespace with a quota', () => {
  const api = testApi({ quota: QUOTA });
  let count = 0;
  const path = (namespace: string, kind: string) => `/api/v1/namespaces/${namespace}/${kind}`;

  async function namespace(prefix = 'ws-'): Promise<string> {
    const name = `${prefix}${++count}`;
    await api.admin.create('/api/v1/namespaces', { metadata: { name } });
    return name;
  }
  let ns: string;
  beforeAll(async () => {
    ns = await namespace();
  });

  it('holds no more objects of a kind, at whatever speed they come, and frees what is deleted', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => api.admin.create(path(ns, 'configmaps'), map(`m${n}`))),
    );
    const made = answers.filter(({ code }) => code === 201);
    expect([made.length, new Set(answers.map(({ code }) => code))]).toEqual([6, new Set([201, 403])]);
    const refused = answers.find(({ code }) => code === 403);
    expect(textAt(refused?.body, ['message'])).toMatch(
      /^configmaps "m\d+" is forbidden: exceeded quota: agentplane, requested: count\/configmaps=1, used: count\/configmaps=6, limited: count\/configmaps=6; .*\(QUOTA\)$/,
    );
    await api.admin.delete(`${path(ns, 'configmaps')}/${textAt(made[0]?.body, ['metadata', 'name'])}`);
    expect((await api.admin.create(path(ns, 'configmaps'), map('again'))).code).toBe(201);
    expect((await api.admin.create(path(await namespace(), 'configmaps'), map('other'))).code).toBe(201);
    expect((await api.admin.create(path(ns, 'secrets'), { metadata: { name: 's' } })).code).toBe(201);
  });

  it('has the ResourceQuota that refusals name, with its limits and their use', async () => {
    const own = await namespace();
    const quota = `${path(own, 'resourcequotas')}/agentplane`;
    await waitFor(async () => (await api.admin.get(quota)).code === 200);
    await api.admin.create(path(own, 'services'), service('a', 3));
    const { body } = await api.admin.get(quota);
    const hard = {
      'agentplane.dev/letters': '40000',
      'agentplane.dev/ports': '5',
      'count/resourcequotas': '6',
      'count/secrets': '2',
      'count/services': '3',
      pods: '3',
      'requests.cpu': '2',
      'requests.memory': '1Gi',
    };
    const { spec, status } = body as { spec: object; status: { used: Record<string, string> } };
    expect([spec, status]).toEqual([{ hard }, { hard, used: expect.any(Object) as object }]);
    expect(status.used).toMatchObject({
      'agentplane.dev/ports': '3',
      'count/resourcequotas': '1',
      'count/secrets': '0',
      'count/services': '1',
      pods: '0',
      'requests.memory': '0',
    });
    const list = await api.admin.get(path(own, 'resourcequotas'));
    expect((list.body as { items: readonly object[] }).items).toMatchObject([{ spec, status }]);
    const free = await namespace('free-');
    expect((await api.admin.get(path(free, 'resourcequotas'))).body).toMatchObject({ items: [] });
  });

  it('gives Services and pods no more ports', async () => {
    const own = await namespace();
    expect((await api.admin.create(path(own, 'services'), service('a', 3))).code).toBe(201);
    const refused = await api.admin.create(path(own, 'services'), service('b', 3));
    expect([refused.code, textAt(refused.body, ['message'])]).toEqual([
      403,
      expect.stringContaining(
        'requested: agentplane.dev/ports=3, used: agentplane.dev/ports=3, limited: agentplane.dev/ports=5',
      ),
    ]);
    const { spec } = service('a', 6);
    expect((await api.admin.merge(`${path(own, 'services')}/a`, { spec })).code).toBe(403);
    const ports = Array.from({ length: 3 }, (_, n) => ({ containerPort: 80 + n }));
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', ports }] } };
    await api.admin.create(path(own, 'serviceaccounts'), { metadata: { name: 'default' } });
    expect((await api.admin.create(path(own, 'pods'), pod)).code).toBe(403);
    await api.admin.delete(`${path(own, 'services')}/a`);
    expect((await api.admin.create(path(own, 'pods'), pod)).code).toBe(201);
  });

  it('lets pods that have not ended request no more together, by whatever route they come', async () => {
    const own = await namespace();
    await api.admin.create(path(own, 'serviceaccounts'), { metadata: { name: 'default' } });
    const pod = (name: string, requests: object, more: object = {}) =>
      api.admin.create(path(own, 'pods'), {
        metadata: { name },
        spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }], ...more },
      });
    const refusal = async (name: string, requests: object, more?: object) => {
      const { code, body } = await pod(name, requests, more);
      return [code, /requested.*?;/.exec(textAt(body, ['message']))?.[0]];
    };
    expect(await refusal('huge', { cpu: '64' }, { nodeName: 'n' })).toEqual([
      403,
      'requested: requests.cpu=64, used: requests.cpu=0, limited: requests.cpu=2;',
    ]);
    expect((await pod('a', { cpu: '1500m', memory: '512Mi' })).code).toBe(201);
    expect(await refusal('b', { cpu: '600m' })).toEqual([
      403,
      'requested: requests.cpu=600m, used: requests.cpu=1500m, limited: requests.cpu=2;',
    ]);
    expect(await refusal('b', { memory: '513Mi' })).toEqual([
      403,
      'requested: requests.memory=513Mi, used: requests.memory=512Mi, limited: requests.memory=1Gi;',
    ]);
    expect([(await pod('b', {})).code, (await pod('c', {})).code]).toEqual([201, 201]);
    expect(await refusal('d', {})).toEqual([403, 'requested: pods=1, used: pods=3, limited: pods=3;']);
    await api.admin.merge(`${path(own, 'pods')}/a/status`, { status: { phase: 'Failed' } });
    expect((await pod('d', { cpu: '2' })).code).toBe(201);
    await api.restart();
    expect((await refusal('e', { cpu: '1m' }))[0]).toBe(403);
  });

  it('holds no more letters, lets what exists report a little, and counts again after a restart', async () => {
    const own = await namespace();
    expect((await api.admin.create(path(own, 'configmaps'), map('big', 39_000))).code).toBe(201);
    expect((await api.admin.create(path(own, 'configmaps'), map('more', 2_000))).code).toBe(403);
    const grow = (letters: number) =>
      api.admin.merge(`${path(own, 'configmaps')}/big`, { data: { x: 'x'.repeat(letters) } });
    expect((await grow(45_000)).code).toBe(200);
    expect((await grow(60_000)).code).toBe(403);
    await api.restart();
    expect((await grow(60_000)).code).toBe(403);
    expect((await grow(10)).code).toBe(200);
    expect((await api.admin.create(path(own, 'configmaps'), map('more', 2_000))).code).toBe(201);
  });

  it('refuses a dry run what it refuses the write, by every kind of request, and counts none', async () => {
    const own = await namespace();
    const maps = path(own, 'configmaps');
    const dry = (target: string) => `${target}?dryRun=All`;
    await api.admin.create(maps, map('big', 36_000));
    for (let n = 0; n < 10; n++)
      expect((await api.admin.create(dry(path(own, 'services')), service('a', 5))).code).toBe(201);
    const more = map('more', 5_000);
    const [seen, real] = [await api.admin.create(dry(maps), more), await api.admin.create(maps, more)];
    expect([seen.code, textAt(seen.body, ['message'])]).toEqual([403, textAt(real.body, ['message'])]);
    const growth = { data: { x: 'x'.repeat(60_000) } };
    expect((await api.admin.merge(dry(`${maps}/big`), growth)).code).toBe(403);
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...more };
    const apply = { body: applied, type: 'application/apply-patch+yaml' };
    const applying = `${maps}/more?fieldManager=test`;
    expect((await api.admin.call('PATCH', `${applying}&dryRun=All`, apply)).code).toBe(403);
    expect((await api.admin.create(dry(path(own, 'services')), service('a', 6))).code).toBe(403);
    expect((await api.admin.merge(dry(`${maps}/big`), { data: { x: 'small' } })).code).toBe(200);
  });

  it('bounds no other namespace', async () => {
    const own = await namespace('system-');
    for (let n = 0; n < 7; n++)
      expect((await api.admin.create(path(own, 'configmaps'), map(`m${n}`, 9_000))).code).toBe(201);
  });
});
