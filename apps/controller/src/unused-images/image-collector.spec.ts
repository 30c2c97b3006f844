import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type ImageStore, openImageStore } from '#lib/image-store';
import {
  type AgentRevision,
  CUSTOM_RESOURCE_DEFINITIONS,
  databaseSecretName,
  NAMESPACES,
  platformSecretName,
  PODS,
  RESOURCES,
  revisionEnvSecretName,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder, testEmbeddedKube, waitFor, testKubeClient } from '#lib/testing';
import { ImageCollector } from './image-collector.js';

const namespace = 'ws-a';
const OTHER = 'ws-b';
const STRANGER = 'ws-c';
const TENANT = '11111111-2222-4333-8444-555555555555';
const PASS_MS = 300_000;
/** The first finds it unnamed, the second removes it. */
const PASSES = 2;

describe('ImageCollector', () => {
  const server = testEmbeddedKube();
  const client = testKubeClient(server);
  const root = temporaryFolder();
  let made = 0;

  beforeAll(async () => {
    const crds = join(process.cwd(), 'crds');
    for (const file of readdirSync(crds).filter((name) => /agent(revision|deployment)s/.test(name)))
      await client.create(CUSTOM_RESOURCE_DEFINITIONS, parse(readFileSync(join(crds, file), 'utf8')));
    for (const name of [namespace, OTHER, STRANGER]) {
      await client.create(NAMESPACES, { metadata: { name } });
      await client.create(SERVICE_ACCOUNTS, { metadata: { namespace: name, name: 'default' } });
    }
    await waitFor(() =>
      Promise.all([client.list(RESOURCES.AgentRevision), client.list(RESOURCES.AgentDeployment)]).then(
        () => true,
        () => false,
      ),
    );
  });

  /** Collector whose caches hold these revisions when it is made. */
  const newCollector = (cached: readonly AgentRevision[] = []) => {
    const clock = new FakeClock(new Date());
    const base = join(root, String(made++));
    const installation = join(base, 'installation');
    mkdirSync(join(installation, 'node_modules'), { recursive: true });
    const store = openImageStore({ folder: join(base, 'images'), installation, clock });
    const collector = new ImageCollector({
      store,
      client,
      clock,
      log: createLogger('test', 'silent'),
      revisions: { list: () => [...cached] },
      deployments: { list: () => [] },
      cluster: () => 'cluster',
    });
    const passes = async (count = PASSES): Promise<void> => {
      for (let at = 0; at < count; at++) {
        await clock.advance(PASS_MS + 1);
        await collector.reconcile();
      }
    };
    return { store, collector, passes, base };
  };
  const build = async (store: ImageStore, base: string, namespaces = [namespace]): Promise<string> => {
    const source = join(base, `source-${made++}`);
    mkdirSync(source);
    writeFileSync(join(source, 'langgraph.json'), '{"graphs": {"agent": "./graph.js:graph"}}');
    writeFileSync(join(source, 'graph.js'), `export const graph = ${made}`);
    let image = '';
    for (const one of namespaces)
      image = await store.importBuilt('b', {
        source,
        graphConfig: 'langgraph.json',
        namespace: one,
        cluster: 'cluster',
        limits: { maxBytes: 1e8, maxEntries: 1_000 },
        maxNamespaceBytes: 1e9,
      });
    return image;
  };
  const exists = async (store: ImageStore, image: string): Promise<boolean> =>
    (await store.resolve(image, { namespace, gid: undefined })) !== undefined;
  const aRevision = async (image: string): Promise<AgentRevision> => {
    const name = `a-${made++}`;
    await client.create<AgentRevision>(RESOURCES.AgentRevision, {
      metadata: { namespace, name },
      spec: {
        deploymentName: 'a',
        deploymentWireName: 'a',
        tenantId: TENANT,
        number: made,
        source: 'git_host',
        listenerName: 'listener',
        git: { repoUrl: 'https://git.example.org/a.git', graphConfigPath: 'langgraph.json' },
        envSecretName: revisionEnvSecretName(name),
        databaseSecretName: databaseSecretName('a'),
        platformSecretName: platformSecretName('a'),
      },
    });
    return await client.mergeStatus(RESOURCES.AgentRevision, { namespace, name }, { status: { image } });
  };

  it('removes the image of a revision that is forgotten, and keeps the others', async () => {
    const { store, passes, base } = newCollector();
    const [kept, gone] = [await build(store, base), await build(store, base)];
    await aRevision(kept);
    const { metadata } = await aRevision(gone);
    await passes();
    expect([await exists(store, kept), await exists(store, gone)]).toEqual([true, true]);
    await client.delete(RESOURCES.AgentRevision, { namespace, name: metadata.name });
    await passes();
    expect([await exists(store, kept), await exists(store, gone)]).toEqual([true, false]);
  });

  it('keeps an image that a pod runs, whatever became of its revision', async () => {
    const { store, passes, base } = newCollector();
    const image = await build(store, base);
    const pod = { metadata: { namespace, name: 'runs' }, spec: { containers: [{ name: 'c', image }] } };
    await client.create(PODS, pod);
    await passes();
    expect(await exists(store, image)).toBe(true);
    await client.delete(PODS, { namespace, name: 'runs' }, { gracePeriodSeconds: 0 });
    await passes();
    expect(await exists(store, image)).toBe(false);
  });

  it('takes a content from the workspace that names it no more, whatever others name', async () => {
    const { store, passes, base } = newCollector();
    const image = await build(store, base, [namespace, OTHER]);
    const digest = image.split('@')[1] ?? '';
    const pod = (of: string) => ({
      metadata: { namespace: of, name: 'names' },
      spec: { containers: [{ name: 'c', image }] },
    });
    for (const one of [OTHER, STRANGER]) await client.create(PODS, pod(one));
    await passes(1);
    expect([...((await store.holders()).get(digest) ?? [])]).toEqual([namespace, OTHER]);
    await passes(1);
    expect([...((await store.holders()).get(digest) ?? [])]).toEqual([OTHER]);
    // a workspace that never had it keeps nothing
    await client.delete(PODS, { namespace: OTHER, name: 'names' }, { gracePeriodSeconds: 0 });
    await passes();
    expect((await store.holders()).has(digest)).toBe(false);
  });

  it('removes nothing before a second pass finds it unnamed', async () => {
    const { store, passes, base } = newCollector();
    const image = await build(store, base);
    await passes(1);
    expect(await exists(store, image)).toBe(true);
    await passes(1);
    expect(await exists(store, image)).toBe(false);
  });

  it('works every five minutes, however often it is asked', async () => {
    const { store, collector, passes, base } = newCollector();
    const image = await build(store, base);
    await passes(1);
    for (let at = 0; at < 10; at++) await collector.reconcile();
    expect(await exists(store, image)).toBe(true);
  });
});
