import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { isNotFound, type KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  idOf,
  keyOf,
  LABEL,
  NAMESPACES,
  RESOURCES,
} from '#lib/resources';
import { controllerReference } from '#lib/reconcile';
import { createLogger } from '#lib/telemetry';
import { testEmbeddedKube, testPostgres, testKubeClient } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { archiveRevisions, type DeploymentTools, finalizeDeployment } from './deployment-reconciler.js';
import { RevisionArchiver } from './revision-archiver.js';
import { revision as sampleRevision, TRUSTING } from './testdata/sample-world.js';

const TENANT = randomUUID();
const NAMESPACE = 'ws-x';
const log = createLogger('test', 'silent');

describe('archiveRevisions', () => {
  const postgres = testPostgres();
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  let store: TraceStore;

  beforeAll(async () => {
    for (const plural of ['agentdeployments', 'agentrevisions']) {
      const text = readFileSync(join(process.cwd(), `crds/agentplane.dev_${plural}.yaml`), 'utf8');
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(text));
    }
    await client.create(NAMESPACES, { metadata: { name: NAMESPACE } });
    const { uri } = await postgres.freshDatabase();
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
  });
  afterAll(async () => {
    await store?.close();
  });

  const events: string[] = [];
  const tools = (more: Partial<DeploymentTools> = {}) => ({
    client,
    archiver: new RevisionArchiver(client, store.revisionArchive),
    events: {
      record: (_ref: object, _object: object, { reason, message }: { reason: string; message: string }) =>
        void events.push(`${reason}: ${message}`),
    },
    provisioning: { release: async () => undefined } as unknown as DeploymentTools['provisioning'],
    ...more,
  });
  beforeEach(() => void events.splice(0));

  async function deploy(name: string): Promise<AgentDeployment> {
    return client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
      metadata: { namespace: NAMESPACE, name, annotations: { [ANNOTATION.id]: randomUUID() } },
      spec: {
        source: 'external_image',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'i' },
        suspend: false,
        revisionHistoryLimit: 1,
      },
    });
  }

  /** One that failed and left its output. */
  async function fail(deployment: AgentDeployment, number: number): Promise<AgentRevision> {
    const { name: of } = deployment.metadata;
    const name = `${of}-0000${number}`;
    const made = await client.create<AgentRevision>(RESOURCES.AgentRevision, {
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { [LABEL.deployment]: of },
        annotations: { [ANNOTATION.id]: randomUUID(), 'example.com/large': 'x'.repeat(100_000) },
        ownerReferences: [controllerReference(RESOURCES.AgentDeployment, deployment)],
      },
      spec: {
        deploymentName: of,
        deploymentWireName: of,
        tenantId: TENANT,
        number,
        source: 'external_image',
        imageUri: `i:${number}`,
        envSecretName: `${name}-env`,
        databaseSecretName: `${of}-database`,
        platformSecretName: `${of}-platform`,
        listenerName: 'default',
      },
    });
    await client.create(CONFIG_MAPS, {
      metadata: {
        namespace: NAMESPACE,
        name: `${name}-output`,
        annotations: { [ANNOTATION.pod]: 'pod-1' },
        ownerReferences: [controllerReference(RESOURCES.AgentRevision, made)],
      },
      data: { 'agent.log': `2026-11-20T00:00:00Z no model ${number}` },
    });
    const { conditions } = sampleRevision(number, 'Failed/True/GraphLoadFailed').status ?? {};
    const dated = conditions?.map((one) => ({ ...one, lastTransitionTime: '2026-11-20T00:00:00Z' }));
    return client.mergeStatus<AgentRevision>(RESOURCES.AgentRevision, keyOf(made), {
      status: { conditions: dated },
    });
  }
  const ownerOf = (deployment: AgentDeployment) => ({
    tenantId: TENANT,
    deploymentId: idOf(deployment) ?? '',
  });
  const archived = (deployment: AgentDeployment) =>
    store.revisionArchive.list(ownerOf(deployment), { except: [], offset: 0, limit: 10 });
  const remains = async (revision: AgentRevision): Promise<boolean> =>
    (await client.find(RESOURCES.AgentRevision, keyOf(revision))) !== undefined;

  it('stores a revision with its output before it is deleted', async () => {
    const deployment = await deploy('a');
    const failed = await fail(deployment, 1);
    const decision = { revisions: [failed], tenantId: TENANT };
    expect(await archiveRevisions(tools(), deployment, decision)).toEqual({ kind: 'done' });
    expect(await remains(failed)).toBe(false);
    const [row] = await archived(deployment);
    expect(row).toMatchObject({ id: idOf(failed), number: 1, status: 'DEPLOY_FAILED' });
    const { metadata, spec, status } = JSON.parse(row?.object ?? '') as AgentRevision;
    expect(metadata.annotations).toEqual({ [ANNOTATION.id]: idOf(failed) });
    expect({ spec, status }).toEqual({ spec: failed.spec, status: failed.status });
    const outputs = await store.revisionArchive.findOutputs(ownerOf(deployment), idOf(failed) ?? '');
    expect(JSON.parse(outputs ?? '')).toMatchObject([
      {
        metadata: { name: 'a-00001-output', annotations: { [ANNOTATION.pod]: 'pod-1' } },
        data: { 'agent.log': '2026-11-20T00:00:00Z no model 1' },
      },
    ]);
    expect(events).toEqual([]);
  });

  it('has one row of a revision when it ended between the row and the deletion', async () => {
    const deployment = await deploy('b');
    const failed = await fail(deployment, 1);
    const decision = { revisions: [failed], tenantId: TENANT };
    const ending = Object.create(client, {
      delete: { value: () => Promise.reject(new Error('killed')) },
    }) as KubeClient;
    await expect(archiveRevisions(tools({ client: ending }), deployment, decision)).rejects.toThrow('killed');
    expect([await remains(failed), (await archived(deployment)).length]).toEqual([true, 1]);
    await archiveRevisions(tools(), deployment, decision);
    expect([await remains(failed), (await archived(deployment)).length]).toEqual([false, 1]);
  });

  it('keeps the resource, with an event, while the database is unavailable', async () => {
    const deployment = await deploy('c');
    const failed = await fail(deployment, 1);
    const away = openTraceStore({ uri: 'postgres://absent@127.0.0.1:1/none', log, clock: systemClock });
    const archiver = new RevisionArchiver(client, away.revisionArchive);
    const decision = { revisions: [failed], tenantId: TENANT };
    const outcome = await archiveRevisions(tools({ archiver }), deployment, decision);
    await away.close();
    expect(outcome).toEqual({ kind: 'done', retryMs: 60_000 });
    expect(await remains(failed)).toBe(true);
    expect(events).toEqual([
      'ArchivingFailed: archiving revisions past revisionHistoryLimit failed: database unavailable; they stay, retrying every minute',
    ]);
  });

  it('leaves nothing in the archive of a deployment that is deleted', async () => {
    const [deployment, other] = [await deploy('d'), await deploy('e')];
    const workspace = { ...TRUSTING, spec: { ...TRUSTING.spec, tenantId: TENANT } };
    for (const one of [deployment, other])
      await archiveRevisions(tools(), one, { revisions: [await fail(one, 1)], tenantId: TENANT });
    const second = await fail(deployment, 2);
    const end = () => finalizeDeployment(tools(), deployment, { id: idOf(deployment) ?? '', workspace });
    expect(await end()).toMatchObject({ kind: 'wait' });
    await client.delete(RESOURCES.AgentRevision, keyOf(second)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    expect((await archived(deployment)).map(({ number }) => number)).toEqual([1]);
    await end();
    expect(await archived(deployment)).toEqual([]);
    expect(await archived(other)).toHaveLength(1);
  });
});
