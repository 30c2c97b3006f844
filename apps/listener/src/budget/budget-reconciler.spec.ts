import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Informers, KubeClient, loadKubeConnection, startControllers } from '#lib/kube';
import { buildListenerRights } from '#lib/manifests';
import type { Stoppable } from '#lib/lifecycle';
import {
  type Deployment,
  DEPLOYMENTS,
  FIELD_MANAGER,
  LABEL,
  type Listener,
  NAMESPACES,
  POD_DISRUPTION_BUDGETS,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { hasRealKubernetes, temporaryFolder, testApiServer, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { BudgetReconciler } from './budget-reconciler.js';

const NAMESPACE = 'ws-x';
const LISTENER: Listener = {
  apiVersion: 'agentplane.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: 'default', namespace: NAMESPACE },
  spec: { computeType: 'cluster', computeId: 'near' },
};
const log = createLogger('test', 'silent');
const at = (name: string) => ({ namespace: NAMESPACE, name });

function workload(name: string, replicas: number, listener = 'default'): Deployment {
  const labels = { [LABEL.deployment]: 'a', [LABEL.revision]: name, [LABEL.listener]: listener };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...at(name), labels },
    spec: {
      replicas,
      selector: { matchLabels: { [LABEL.revision]: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: 'agent', image: 'i' }] } },
    },
  };
}

(hasRealKubernetes ? describe : describe.skip)('BudgetReconciler', () => {
  const server = testApiServer();
  const folder = temporaryFolder();
  let admin: KubeClient;
  let client: KubeClient;
  let running: Stoppable;

  const open = async (kubeconfigPath: string) =>
    new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: FIELD_MANAGER.listener });

  /** A client with the rights of a Listener and no others. */
  async function openAsListener(): Promise<KubeClient> {
    const { serviceAccount, role, roleBinding } = buildListenerRights(LISTENER);
    await admin.create(SERVICE_ACCOUNTS, serviceAccount);
    await admin.create(ROLES, role);
    await admin.create(ROLE_BINDINGS, roleBinding);
    const { token } = await admin.createToken(at(serviceAccount.metadata.name));
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, readFileSync(server.kubeconfigPath, 'utf8').replace(server.token, token));
    return open(path);
  }

  beforeAll(async () => {
    admin = await open(server.kubeconfigPath);
    await admin.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    client = await openAsListener();
    const informers = new Informers({ client, log, clock: systemClock });
    const budgets = new BudgetReconciler(client, informers, {
      namespace: NAMESPACE,
      listenerName: 'default',
    });
    const controller = {
      name: 'budgets',
      reconcile: (key: { namespace?: string; name: string }) => budgets.reconcile(key),
      sources: budgets.sources,
    };
    running = await startControllers({ informers, controllers: [controller], log });
  });
  afterAll(async () => {
    await running?.stop();
    await client?.close();
    await admin?.close();
  });

  let sentinels = 0;
  beforeEach(() => admin.create(DEPLOYMENTS, workload('a-00001', 1)));
  afterEach(async () => {
    await admin.delete(DEPLOYMENTS, at('a-00001'));
    for (const { metadata } of (await admin.list(POD_DISRUPTION_BUDGETS, { namespace: NAMESPACE })).items)
      await admin.delete(POD_DISRUPTION_BUDGETS, at(metadata.name));
  });

  const found = () => admin.find(POD_DISRUPTION_BUDGETS, at('a-00001'));
  const scale = (replicas: number) => admin.merge(DEPLOYMENTS, at('a-00001'), { spec: { replicas } });
  /** Keys are taken in their order: when a later Deployment has its budget, the earlier one was decided. */
  async function settled(): Promise<void> {
    const name = `later-${++sentinels}`;
    await admin.create(DEPLOYMENTS, workload(name, 2));
    await waitFor(() => admin.find(POD_DISRUPTION_BUDGETS, at(name)));
    await admin.delete(DEPLOYMENTS, at(name));
  }

  it('follows the number of pods of a Deployment', async () => {
    await settled();
    expect(await found()).toBeUndefined();
    await scale(3);
    await waitFor(found);
    const { metadata, spec } = await admin.get(POD_DISRUPTION_BUDGETS, at('a-00001'));
    expect(spec).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: { [LABEL.revision]: 'a-00001' } },
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    });
    // the garbage collector of any cluster removes it with its Deployment
    const { uid } = (await admin.get(DEPLOYMENTS, at('a-00001'))).metadata;
    expect(metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'Deployment', name: 'a-00001', uid, controller: true }),
    ]);
    await scale(0);
    await waitFor(async () => (await found()) === undefined);
  });

  it('restores a deleted budget', async () => {
    await scale(2);
    const { uid } = (await waitFor(found)).metadata;
    await admin.delete(POD_DISRUPTION_BUDGETS, at('a-00001'));
    await waitFor(async () => {
      const again = await found();
      return again !== undefined && again.metadata.uid !== uid;
    });
  });

  it('gives way to a budget of the user, and comes back after it', async () => {
    await scale(2);
    await waitFor(found);
    await admin.create(POD_DISRUPTION_BUDGETS, {
      metadata: at('mine'),
      spec: { minAvailable: 1, selector: { matchLabels: { [LABEL.deployment]: 'a' } } },
    });
    await waitFor(async () => (await found()) === undefined);
    await admin.delete(POD_DISRUPTION_BUDGETS, at('mine'));
    await waitFor(found);
  });

  it('leaves a budget of another owner alone', async () => {
    await admin.create(POD_DISRUPTION_BUDGETS, {
      metadata: at('a-00001'),
      spec: { minAvailable: 1, selector: { matchLabels: { other: 'x' } } },
    });
    await scale(2);
    await settled();
    await scale(1);
    await settled();
    expect((await found())?.spec).toMatchObject({ minAvailable: 1 });
  });

  it('leaves Deployments of another listener alone', async () => {
    await admin.create(DEPLOYMENTS, workload('b-00001', 3, 'another'));
    await settled();
    expect(await admin.find(POD_DISRUPTION_BUDGETS, at('b-00001'))).toBeUndefined();
    await admin.delete(DEPLOYMENTS, at('b-00001'));
  });
});
