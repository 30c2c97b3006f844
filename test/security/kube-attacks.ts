import { randomUUID } from 'node:crypto';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { Arena, FindArena } from './arena.js';
import { HttpsCaller } from './https-caller.js';
import { findIdentities, type KubeIdentities } from './kube-identities.js';
import { kubeRows, PUBLIC_PATHS } from './kube-rows.js';

/** What grants rights, and what must be kept, with the version of each. */
async function stateOf({ kube }: Arena): Promise<string> {
  const kinds = [CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS, SECRETS];
  const lists = kinds.map(async (kind) => (await kube.list(kind)).items);
  return (await Promise.all(lists))
    .flat()
    .map(({ metadata: { namespace, name, resourceVersion } }) => `${namespace}/${name} ${resourceVersion}`)
    .sort()
    .join('\n');
}

/** The embedded Kubernetes API server: identities, rights, paths and bodies. */
export function attackKubernetes(arena: FindArena): void {
  describe('Kubernetes API', () => {
    let identities: KubeIdentities;
    let caller: HttpsCaller;
    let before: string;

    beforeAll(async () => {
      identities = await findIdentities(arena());
      caller = new HttpsCaller(identities.server, identities.ca, arena().transcript);
      before = await stateOf(arena());
    });

    it.each(PUBLIC_PATHS)('answers anybody: %s', async (path) => {
      expect((await caller.call('GET', path, identities.anonymous)).status).toBe(200);
    });

    it('refuses every call beyond the rights of its caller', async () => {
      const { attacker, victim } = arena();
      const wrong: string[] = [];
      const rows = kubeRows(attacker, victim, identities.nodeName);
      expect(rows.length).toBeGreaterThan(80);
      for (const { what, as, method, path, body, headers, status = 403 } of rows) {
        const answer = await caller.call(method, path, identities[as], {
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        if (answer.status !== status)
          wrong.push(`${as} ${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
      }
      expect(wrong).toEqual([]);
      expect(await stateOf(arena())).toBe(before);
    });

    it('accepts what the same callers may do', async () => {
      const { namespace } = arena().attacker;
      for (const [as, path] of [
        ['namespaceAdmin', `/api/v1/namespaces/${namespace}/secrets`],
        ['listener', `/apis/agentplane.dev/v1alpha1/namespaces/${namespace}/agentrevisions`],
        ['node', `/api/v1/nodes/${identities.nodeName}`],
        ['master', '/api/v1/secrets'],
      ] as const)
        expect([as, (await caller.call('GET', path, identities[as])).status]).toEqual([as, 200]);
    });

    it('refuses forged, changed and foreign tokens', async () => {
      const statuses = await Promise.all(
        Object.entries(identities.badTokens).map(async ([name, token]) => [
          name,
          (await caller.call('GET', '/api/v1/secrets', { token })).status,
        ]),
      );
      expect(statuses).toHaveLength(12);
      expect(statuses).toEqual(statuses.map(([name]) => [name, 401]));
      const basic = `Basic ${Buffer.from('admin:admin').toString('base64')}`;
      const answer = await caller.call('GET', '/api/v1/secrets', {}, { headers: { authorization: basic } });
      expect([401, 403]).toContain(answer.status);
    });

    it('reads no namespace of another tenant by tricks with paths', async () => {
      const { attacker, victim } = arena();
      const [own, other] = [attacker.namespace, victim.namespace];
      const spaces = '/api/v1/namespaces';
      const paths = [
        `${spaces}/${own}/pods/../../${other}/secrets`,
        `${spaces}/${own}/../${other}/secrets`,
        `${spaces}/${own}/..%2f${other}/secrets`,
        `${spaces}/${own}%2f..%2f${other}/secrets`,
        `${spaces}/${own}/%2e%2e/${other}/secrets`,
        `${spaces}/${own}/secrets/..%2f..%2f${other}%2fsecrets%2flocal-destination`,
        `${spaces}/${own};/../${other}/secrets`,
        `${spaces}//${other}/secrets`,
        `//api/v1/secrets`,
        `/api/v1/./secrets`,
        `/API/v1/secrets`,
        `/api/v1/secrets/`,
        `/api/v1/secrets%00`,
        `/api/v1/secrets#/${own}`,
        `http://127.0.0.1/api/v1/secrets`,
        `${spaces}/${own}/secrets?fieldSelector=metadata.namespace%3D${other}`,
        `${spaces}/${own}/secrets?namespace=${other}`,
        `${spaces}/${own}/pods/any/log?container=..%2f..%2f..%2fsecrets%2fca.key`,
        `${spaces}/${own}/services/any/proxy/..%2f..%2fsecrets`,
      ];
      const secret = victim.keys.deployment;
      for (const path of paths) {
        const { status, text } = await caller.call('GET', path, identities.namespaceAdmin);
        const encoded = Buffer.from(secret).toString('base64');
        expect([path, text.includes(`"namespace":"${other}"`), text.includes(encoded)]).toEqual([
          path,
          false,
          false,
        ]);
        if (!path.includes('?')) expect([path, status >= 400]).toEqual([path, true]);
      }
      expect(await stateOf(arena())).toBe(before);
    });

    it('refuses bodies that are too deep, too large or grow', async () => {
      const { namespace } = arena().attacker;
      const maps = `/api/v1/namespaces/${namespace}/configmaps`;
      const merge = { 'content-type': 'application/merge-patch+json' };
      const json = { 'content-type': 'application/json-patch+json' };
      const map = (data: string) =>
        `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bomb"},"data":${data}}`;
      const deep = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
      const aliases =
        'a: &a [x,x,x,x,x,x,x,x,x]\n' +
        [...'bcdefghi']
          .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[at]}`).join()}]\n`)
          .join('');
      const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n${aliases}`;
      const operations = (count: number, op: object) => JSON.stringify(Array<object>(count).fill(op));
      const add = { op: 'add', path: '/data/x', value: 'x' };
      const rows: [string, string, string, string, Readonly<Record<string, string>>, number[]][] = [
        ['60,000 levels', 'POST', maps, map(deep(60_000)), {}, [400, 413]],
        ['60,000 lists', 'POST', maps, '['.repeat(60_000), {}, [400, 413]],
        ['4 MB', 'POST', maps, map(`{"a":"${'x'.repeat(4 << 20)}"}`), {}, [413]],
        ['2.5 MB of data', 'POST', maps, map(`{"a":"${'x'.repeat(2_500_000)}"}`), {}, [413, 422]],
        ['aliases of YAML', 'POST', maps, yaml, { 'content-type': 'application/yaml' }, [400, 415, 422]],
        ['20,000 operations', 'PATCH', `${maps}/target`, operations(20_000, add), json, [413, 422]],
        ['a deep merge', 'PATCH', `${maps}/target`, `{"data":${deep(20_000)}}`, merge, [400, 413, 422]],
        ['a gzip that is none', 'POST', maps, 'x', { 'content-encoding': 'gzip' }, [400, 415]],
      ];
      await caller.call('POST', maps, identities.namespaceAdmin, {
        body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"target"},"data":{"a":"b"}}',
      });
      for (const [what, method, path, body, headers, statuses] of rows) {
        const { status, text } = await caller.call(method, path, identities.namespaceAdmin, {
          body,
          headers,
        });
        expect([what, statuses.includes(status) ? 'refused' : `${status} ${text.slice(0, 200)}`]).toEqual([
          what,
          'refused',
        ]);
      }
      const copies = [
        { op: 'add', path: '/data', value: { a: 'x'.repeat(1000) } },
        ...Array.from({ length: 40 }, (_, at) => ({
          op: 'copy',
          from: '/data',
          path: `/metadata/annotations/x${at}`,
        })),
      ];
      const grown = await caller.call('PATCH', `${maps}/target`, identities.namespaceAdmin, {
        body: JSON.stringify(copies),
        headers: json,
      });
      expect(grown.status).toBeGreaterThanOrEqual(400);
      expect((await caller.call('GET', `${maps}/bomb`, identities.namespaceAdmin)).status).toBe(404);
    });

    it('checks a pattern that backtracks', async () => {
      const group = `attack-${randomUUID().slice(0, 8)}.example.org`;
      const schema = {
        type: 'object',
        properties: { spec: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } },
      };
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `bombs.${group}` },
        spec: {
          group,
          scope: 'Cluster',
          names: { plural: 'bombs', singular: 'bomb', kind: 'Bomb' },
          versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
        },
      };
      const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const made = await caller.call('POST', definitions, identities.master, {
        body: JSON.stringify(definition),
      });
      expect(made.status).toBe(201);
      const bomb = {
        apiVersion: `${group}/v1`,
        kind: 'Bomb',
        metadata: { name: 'bomb' },
        spec: { a: `${'a'.repeat(60)}!` },
      };
      const send = () =>
        caller.call('POST', `/apis/${group}/v1/bombs`, identities.master, { body: JSON.stringify(bomb) });
      const answer = await waitFor(async () => {
        const one = await send();
        return one.status !== 404 && one;
      });
      // a backtracking engine needs 2^60 steps and never answers
      expect(answer.status).toBe(422);
      await caller.call('DELETE', `${definitions}/bombs.${group}`, identities.master);
    });
  });
}
