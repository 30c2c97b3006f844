import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { CLUSTER_ROLES, type ClusterRole, type PolicyRule } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, waitFor } from '#lib/testing';
import { startClusterControllers } from '../start-cluster-controllers.js';

const SYSTEM = join(import.meta.dirname, '..', '..', '..', '..', 'deploy', 'system.yaml');
const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to-';

describe('aggregated ClusterRoles', () => {
  const server = testEmbeddedKube();
  let client: KubeClient;
  let controllers: Stoppable;

  beforeAll(async () => {
    const connection = await loadKubeConnection({ kubeconfigPath: server.kubeconfigPath });
    client = new KubeClient(connection, { fieldManager: 'test' });
    controllers = await startClusterControllers({ connection, log: createLogger('test', 'silent') });
    for (const document of parseAllDocuments(readFileSync(SYSTEM, 'utf8'))) {
      const object = document.toJS() as ClusterRole & { readonly kind: string };
      if (object.kind === 'ClusterRole') await client.apply(CLUSTER_ROLES, { ...object });
    }
  });
  afterAll(async () => {
    await controllers.stop();
    await client.close();
  });

  const rulesOf = async (name: string): Promise<readonly PolicyRule[]> =>
    (await client.get(CLUSTER_ROLES, { name })).rules ?? [];
  const may = (rules: readonly PolicyRule[], verb: string, resource: string, group = 'agentplane.dev') =>
    rules.some(
      ({ verbs, resources, apiGroups }) =>
        verbs.includes(verb) && resources?.includes(resource) === true && apiGroups?.includes(group) === true,
    );
  const settled = (name: string, verb: string) =>
    waitFor(async () => may(await rulesOf(name), verb, 'agentdeployments'));

  it.each([
    ['view', 'get', 'agentdeployments', true],
    ['view', 'watch', 'agentrevisions', true],
    ['view', 'list', 'bulkexportruns', true],
    ['view', 'create', 'agentdeployments', false],
    ['edit', 'get', 'bulkexports', true],
    ['edit', 'create', 'agentdeployments', true],
    ['edit', 'delete', 'bulkexportdestinations', true],
    ['edit', 'create', 'listeners', false],
    ['edit', 'update', 'agentdeployments/status', false],
    ['edit', 'create', 'agentrevisions', false],
    ['admin', 'delete', 'listeners', true],
    ['admin', 'create', 'agentrevisions', false],
    ['admin', 'patch', 'bulkexportruns', false],
    ['admin', 'get', 'workspaces', false],
  ])('answers of %s whether it may %s %s', async (name, verb, resource, isAllowed) => {
    await settled(name, name === 'view' ? 'get' : 'create');
    expect(may(await rulesOf(name), verb, resource)).toBe(isAllowed);
  });

  it('lets view read no Secrets', async () => {
    await settled('view', 'get');
    const rules = await rulesOf('view');
    expect(may(rules, 'get', 'secrets', '') || may(rules, 'list', 'secrets', '')).toBe(false);
    expect(rules.some(({ resources }) => resources?.includes('*'))).toBe(false);
    expect(may(rules, 'get', 'pods', '')).toBe(true);
  });

  it('follows roles that come, change and go', async () => {
    const role = (verbs: string[]) => ({
      metadata: { name: 'things', labels: { [`${AGGREGATE}view`]: 'true' } },
      rules: [{ apiGroups: ['test.dev'], resources: ['things'], verbs }],
    });
    const sees = (verb: string) => async () => may(await rulesOf('admin'), verb, 'things', 'test.dev');
    await client.create(CLUSTER_ROLES, role(['get']));
    await waitFor(sees('get'));
    await client.merge(CLUSTER_ROLES, { name: 'things' }, role(['list']));
    await waitFor(sees('list'));
    expect(await sees('get')()).toBe(false);
    await client.delete(CLUSTER_ROLES, { name: 'things' });
    await waitFor(async () => !(await sees('list')()));
  });

  it('names the rule by which it is aggregated, as in every cluster', async () => {
    expect((await client.get(CLUSTER_ROLES, { name: 'admin' })).aggregationRule).toEqual({
      clusterRoleSelectors: [{ matchLabels: { [`${AGGREGATE}admin`]: 'true' } }],
    });
  });
});
