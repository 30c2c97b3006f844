import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type EmbeddedObjectStore, startObjectStore } from '#lib/embedded-object-store';
import { createLogger } from '#lib/telemetry';
import { itLong, type OtlpReceiver, startOtlpReceiver, temporaryFolder, waitFor } from '#lib/testing';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { startTlsFront, type TlsFront } from '../support/tls-front.js';

const run = promisify(execFile);
const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const HOST = 'store.behind-a-proxy.test';
const COLLECTOR = 'collector.behind-a-proxy.test';

describe('a program behind a proxy', () => {
  const folder = temporaryFolder();
  const caFile = join(folder, 'ca.pem');
  let store: EmbeddedObjectStore;
  let front: TlsFront;
  let collector: OtlpReceiver;
  let proxy: ConnectProxy;

  beforeAll(async () => {
    const log = createLogger('test', 'silent');
    store = await startObjectStore({
      folder: join(folder, 'store'),
      host: '127.0.0.1',
      port: 0,
      log,
      buckets: ['bkt'],
      ...KEYS,
    });
    front = await startTlsFront(HOST, store.endpoint);
    writeFileSync(caFile, front.ca);
    // as root, agents are other users, who must be able to read it
    chmodSync(folder, 0o755);
    chmodSync(caFile, 0o644);
    collector = await startOtlpReceiver();
    proxy = await startConnectProxy({
      [`${HOST}:443`]: front.port,
      [`${HOST}:80`]: Number(new URL(store.endpoint).port),
      [`${COLLECTOR}:80`]: Number(new URL(collector.endpoint).port),
    });
  });
  beforeEach(() => proxy.forget());
  afterAll(async () => {
    proxy.stop();
    front.stop();
    await collector.stop();
    await store.stop();
  });

  /** A program of its own, since the CA is read at a program's start. */
  async function check(
    endpoint: string,
    environment: Readonly<Record<string, string>>,
    more = '',
  ): Promise<unknown> {
    const script = `
      const { testDestination } = await import(${JSON.stringify(join(repository, 'dist/libs/object-store/src/index.js'))});
      const settings = { ...${JSON.stringify({ ...KEYS, endpoint })}, attempts: 1, timeoutMs: 5000 ${more} };
      console.log(JSON.stringify(await testDestination(settings, 'bkt', 'p')));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: process.env['PATH'], ...environment },
    });
    return JSON.parse(stdout);
  }

  it('reaches a store with a self-made certificate through the proxy', async () => {
    const environment = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: caFile };
    expect(await check(`https://${HOST}`, environment)).toMatchObject({ kind: 'usable' });
    expect(proxy.asked).toContain(`CONNECT ${HOST}:443`);
  });

  it('refuses that certificate without its CA', async () => {
    const answer = await check(`https://${HOST}`, { HTTPS_PROXY: proxy.url });
    expect(answer).not.toMatchObject({ kind: 'usable' });
  });

  it('reaches a store without TLS through the proxy', async () => {
    expect(await check(`http://${HOST}`, { http_proxy: proxy.url })).toMatchObject({ kind: 'usable' });
    expect(proxy.asked[0]).toMatch(new RegExp(`^[A-Z]+ http://${HOST}$`));
  });

  it('reaches loopback without the proxy, whatever the variables say', async () => {
    const environment = { HTTP_PROXY: proxy.url, NO_PROXY: '' };
    const answer = await check(store.endpoint, environment, ', allowPrivateEndpoints: true');
    expect(answer).toMatchObject({ kind: 'usable' });
    expect(proxy.asked).toEqual([]);
  });

  it('asks no proxy for private addresses that destinations may not have', async () => {
    const answer = await check('http://10.0.0.1', { HTTP_PROXY: proxy.url });
    expect(answer).toMatchObject({ kind: 'refused', detail: 'PrivateEndpoint' });
    expect(proxy.asked).toEqual([]);
  });

  describe('as a whole platform', () => {
    const dataFolder = newDataFolder();
    let platform: Platform;
    let rest: Rest;

    beforeAll(async () => {
      platform = await startPlatform(dataFolder, {
        environment: {
          HTTP_PROXY: proxy.url,
          HTTPS_PROXY: proxy.url,
          NO_PROXY: '',
          NODE_EXTRA_CA_CERTS: caFile,
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://${COLLECTOR}`,
        },
      });
      rest = new Rest(platform.credentials);
    });
    afterAll(async () => {
      await platform.stop();
      removeDataFolder(dataFolder);
    });

    async function agentplane(...words: string[]): Promise<string> {
      const { stdout } = await run(process.execPath, ['bin/agentplane.js', ...words, '--data', dataFolder], {
        cwd: repository,
      });
      return stdout.trim();
    }

    /** An agent whose one node fetches what its caller names. */
    function fetchingAgent(): string {
      const agent = join(folder, 'fetching');
      mkdirSync(agent);
      writeFileSync(
        join(agent, 'langgraph.json'),
        JSON.stringify({ graphs: { agent: './agent.mjs:graph' } }),
      );
      writeFileSync(
        join(agent, 'agent.mjs'),
        `import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
        const State = Annotation.Root({ url: Annotation(), status: Annotation() });
        export const graph = new StateGraph(State)
          .addNode('ask', async ({ url }) => ({ status: (await fetch(url)).status }))
          .addEdge(START, 'ask').addEdge('ask', END).compile();`,
      );
      return agent;
    }

    itLong('asks nothing of itself through the proxy, and lets agents and exports through', async () => {
      await agentplane('image', 'add', 'fetching', fetchingAgent());
      await agentplane('deploy', 'fetching', '--image', 'fetching');
      const url = await agentplane('get', 'adep', 'fetching', '-o', 'jsonpath={.status.url}');
      const answer = await fetch(`${url}/runs/wait`, {
        method: 'POST',
        headers: { 'x-api-key': platform.credentials.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ assistant_id: 'agent', input: { url: `https://${HOST}/bkt` } }),
      });
      // the store refuses what is not signed: it was reached, with a certificate that is trusted
      expect(await answer.json()).toMatchObject({ status: 403 });
      expect(proxy.asked).toContain(`CONNECT ${HOST}:443`);

      proxy.forget();
      const made = await rest.post<{ id: string }>('/api/v1/bulk-exports/destinations', {
        destination_type: 'object_store',
        display_name: 'far away',
        config: { bucket_name: 'bkt', prefix: 'exports', endpoint_url: `https://${HOST}` },
        credentials: { access_key_id: KEYS.accessKeyId, secret_access_key: KEYS.secretAccessKey },
      });
      expect(made).toMatchObject({ status: 200 });
      const projects = await waitFor(
        async () => {
          const { body } = await rest.get<{ id: string }[]>('/sessions?name=fetching');
          return body.length > 0 ? body : undefined;
        },
        { what: 'the project of the agent' },
      );
      const created = await rest.post<{ id: string }>('/api/v1/bulk-exports', {
        bulk_export_destination_id: made.body.id,
        session_id: projects[0]?.id,
        start_time: new Date(Date.now() - 86_400_000).toISOString(),
        end_time: new Date(Date.now() - 500).toISOString(),
      });
      await waitFor(
        async () => {
          const { body } = await rest.get<{ status: string }>(`/api/v1/bulk-exports/${created.body.id}`);
          if (['FAILED', 'TIMEDOUT', 'CANCELLED'].includes(body.status)) throw new Error(body.status);
          return body.status === 'COMPLETED' ? true : undefined;
        },
        { what: 'the export to be COMPLETED' },
      );
      expect(proxy.asked).toContain(`CONNECT ${HOST}:443`);
      await waitFor(() => Promise.resolve(collector.spans.length > 0 || undefined), {
        what: 'a span',
      });
      const elsewhere = proxy.ever.filter((asked) => !asked.includes('.behind-a-proxy.test'));
      expect(elsewhere).toEqual([]);
    });
  });
});
