import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentDeployment, type AgentRevision, keyOf, type Listener, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { deploymentBody } from '../testdata/deployment-body.js';
import { makeRevision } from '../testdata/make-revision.js';
import { problemsIn } from '../testdata/problems-in.js';
import { testApi } from '../testdata/test-api.js';

interface ShownDeployment {
  readonly id: string;
  readonly name: string;
  readonly url: string | null;
  readonly source_config: { readonly custom_url: string | null };
}

const HOST = 'weather.agents.test';

describe('routes by host', () => {
  const { api, tenant } = testApi({ routeDomains: ['agents.test', 'example.org'] });
  /** Stands for the Service of an agent. */
  const agent = createServer((asked, answer) => {
    answer.setHeader('x-agent', 'yes');
    asked.pipe(answer);
    const forwarded = asked.headers['x-forwarded-for'];
    if (asked.method === 'GET') answer.end(`${asked.headers.host} ${asked.url} for ${String(forwarded)}`);
  });
  agent.on('upgrade', (_asked, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
    socket.pipe(socket);
  });

  beforeAll(async () => {
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    agent.closeAllConnections();
    agent.close();
  });

  const create = (
    name: string,
    config: object,
    source: object = { source: 'external_image', source_revision_config: { image_uri: 'local/x' } },
  ) =>
    tenant.call('POST', '/v2/deployments', {
      ...deploymentBody({ name }),
      ...source,
      source_config: config,
    });
  const serve = async (
    name: string,
    { url, ...spec }: Partial<AgentRevision['spec']> & { readonly url?: string } = {},
  ): Promise<void> => {
    const key = { namespace: tenant.namespace, name };
    const { port } = agent.address() as AddressInfo;
    const revision = await makeRevision(api.client, tenant, { name, id: randomUUID(), number: 1 }, spec);
    await api.client.mergeStatus<AgentRevision>(RESOURCES.AgentRevision, keyOf(revision), {
      status: { url: url ?? `http://127.0.0.1:${port}` },
    });
    await api.client.mergeStatus<AgentDeployment>(RESOURCES.AgentDeployment, key, {
      // as the controller has it
      status: { url: `https://${HOST}`, activeRevisionName: revision.metadata.name },
    });
  };
  /** The deployment as the api answers it, once it has seen it: hosts are read from the same cache. */
  const shown = (who: typeof tenant, name: string) =>
    waitFor(async () => {
      const { json } = await who.call('GET', `/v2/deployments?name_contains=${name}`);
      return (json.resources as ShownDeployment[]).find((one) => one.name === name);
    });
  const ask = (host: string, options: { method?: string; body?: string } = {}) =>
    new Promise<{
      readonly status: number;
      readonly text: string;
      readonly headers: IncomingMessage['headers'];
    }>((resolve, reject) => {
      const asked = request(`${api.url}/threads?a=1`, {
        method: options.method ?? 'GET',
        // a client may claim to be another
        headers: { host, 'x-forwarded-for': '203.0.113.9' },
      });
      asked.on('error', reject).on('response', (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
      });
      asked.end(options.body);
    });

  it('leads to the deployment whose custom_url has the host', async () => {
    const made = await create('weather', { custom_url: `https://${HOST}` });
    expect([made.status, made.json.source_config.custom_url]).toEqual([201, `https://${HOST}`]);
    const before = await waitFor(async () => {
      const answer = await ask(HOST);
      return answer.status === 503 && answer;
    });
    expect(JSON.parse(before.text)).toEqual({ detail: 'Deployment weather does not serve yet' });
    await serve('weather');
    const answer = await waitFor(async () => {
      const one = await ask(`${HOST.toUpperCase()}:8470`);
      return one.status === 200 && one;
    });
    expect(answer.text).toBe(`${HOST.toUpperCase()}:8470 /threads?a=1 for 127.0.0.1`);
    expect(answer.headers['x-agent']).toBe('yes');
    expect((await ask(HOST, { method: 'POST', body: 'a body' })).text).toBe('a body');
  });

  it('passes a change of the protocol on, and takes none of the api', async () => {
    const headers = { connection: 'upgrade', upgrade: 'echo' };
    const echoed = await new Promise<string>((resolve, reject) => {
      const asked = request(`${api.url}/`, { headers: { ...headers, host: HOST } });
      asked.on('error', reject).on('upgrade', (_answer, socket) => {
        socket.once('data', (piece: Buffer) => {
          resolve(piece.toString());
          socket.destroy();
        });
        socket.write('hello');
      });
      asked.end();
    });
    expect(echoed).toBe('hello');
    const own = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request(`${api.url}/ok`, { headers });
      asked.on('error', reject).on('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.end();
    });
    expect(own).toBe(200);
  });

  it('answers 404 below its domains where no deployment has the host, and never as the api', async () => {
    const answer = await ask('none.example.org');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      404,
      { detail: 'No deployment has the host none.example.org' },
    ]);
    expect((await ask('none.example.org.:80')).status).toBe(404);
    expect((await ask('example.org')).status).toBe(401);
    expect((await fetch(`${api.url}/ok`)).status).toBe(200);
  });

  it('gives a host to one deployment, in whichever workspace', async () => {
    const other = await api.workspace();
    const body = {
      ...deploymentBody({ name: 'thief' }),
      source_config: { custom_url: `http://${HOST}:1/x` },
    };
    const taken = await other.call('POST', '/v2/deployments', {
      ...body,
      source: 'external_image',
      source_revision_config: { image_uri: 'local/x' },
    });
    expect([taken.status, taken.json.detail]).toEqual([409, expect.stringContaining(HOST)]);
    // kubectl is not refused: the first stays
    const first = await api.client.get(RESOURCES.AgentDeployment, {
      namespace: tenant.namespace,
      name: 'weather',
    });
    // the age of objects is in whole seconds
    const madeMs = Date.parse(first.metadata.creationTimestamp ?? '');
    await waitFor(() => systemClock.now().getTime() - madeMs > 1_000);
    await api.client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
      metadata: { namespace: other.namespace, name: 'thief' },
      spec: {
        source: 'external_image',
        suspend: false,
        revisionHistoryLimit: 10,
        sourceConfig: { customUrl: `https://${HOST}` },
        sourceRevisionConfig: { imageUri: 'local/x' },
      },
    });
    await shown(other, 'thief');
    expect((await ask(HOST)).headers['x-agent']).toBe('yes');
    const [mine] = (await tenant.call('GET', '/v2/deployments?name_contains=weather')).json.resources;
    const again = { source_config: { custom_url: `https://${HOST}` } };
    expect((await tenant.call('PATCH', `/v2/deployments/${mine.id}`, again)).status).toBe(200);
  });

  it('leaves a host with the deployment that has it when an older one of another workspace asks for it', async () => {
    const other = await api.workspace();
    const customUrl = 'https://late.agents.test';
    const older = await api.client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
      metadata: { namespace: other.namespace, name: 'older' },
      spec: {
        source: 'external_image',
        suspend: false,
        revisionHistoryLimit: 10,
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'local/x' },
      },
    });
    const madeMs = Date.parse(older.metadata.creationTimestamp ?? '');
    await waitFor(() => systemClock.now().getTime() - madeMs > 1_000);
    await create('late', { custom_url: customUrl });
    await serve('late');
    await api.client.mergeStatus<AgentDeployment>(
      RESOURCES.AgentDeployment,
      { namespace: tenant.namespace, name: 'late' },
      // as the controller has it
      { status: { customHost: 'late.agents.test' } },
    );
    await waitFor(async () => (await ask('late.agents.test')).status === 200);
    await api.client.merge<AgentDeployment>(RESOURCES.AgentDeployment, keyOf(older), {
      spec: { sourceConfig: { customUrl } },
    });
    await waitFor(async () => (await shown(other, 'older')).source_config.custom_url === customUrl);
    expect((await ask('late.agents.test')).status).toBe(200);
  });

  it.each(['https://platform.example.com', 'http://127.0.0.1:8470', 'https://agents.test'])(
    'refuses %s, which may be a host of the platform itself',
    async (custom_url) => {
      const answer = await create('outside', { custom_url });
      expect(answer.status).toBe(422);
      expect(problemsIn(answer)[0]).toContain('body.source_config.custom_url');
    },
  );

  it('assigns a host to a deployment from git, which shows it', async () => {
    const made = await tenant.call('POST', '/v2/deployments', {
      name: 'built',
      source: 'git_host',
      secrets: [],
      source_config: { repo_url: 'https://git.example.org/a.git' },
      source_revision_config: { graph_config_path: 'langgraph.json' },
    });
    const { custom_url: url } = made.json.source_config;
    expect(url).toMatch(/^http:\/\/built--ws-w[0-9a-f]+(-[0-9a-f]{6})?\.agents\.test:8470$/);
    const path = `/v2/deployments/${made.json.id}`;
    const patched = (custom_url: unknown) => tenant.call('PATCH', path, { source_config: { custom_url } });
    // as a client does that sends back what it read
    const repeated = await patched(url);
    expect([repeated.status, repeated.json.source_config.custom_url]).toEqual([200, url]);
    expect(repeated.json.latest_revision_id).toBe(made.json.latest_revision_id);
    expect((await patched('https://other.agents.test')).status).toBe(422);
    await serve('built');
    await waitFor(async () => (await ask(new URL(url).host)).status === 200);
  });

  it.each(['built--ws-other', 'a'.repeat(63)])(
    'reserves %s for the deployment from git that it is assigned to',
    async (label) => {
      const answer = await create('squatter', { custom_url: `https://${label}.agents.test` });
      expect(answer.status).toBe(422);
      expect(problemsIn(answer)[0]).toContain('body.source_config.custom_url');
      await api.client.create<AgentDeployment>(RESOURCES.AgentDeployment, {
        metadata: { namespace: tenant.namespace, name: `squatter-${label.length}` },
        spec: {
          source: 'external_image',
          suspend: false,
          revisionHistoryLimit: 10,
          sourceConfig: { customUrl: `https://${label}.agents.test` },
          sourceRevisionConfig: { imageUri: 'local/x' },
        },
      });
      await shown(tenant, `squatter-${label.length}`);
      expect((await ask(`${label}.agents.test`)).status).toBe(404);
    },
  );

  it('never calls an address that another cluster has written', async () => {
    await api.client.create<Listener>(RESOURCES.Listener, {
      metadata: { namespace: tenant.namespace, name: 'far' },
      spec: { computeType: 'cluster', computeId: 'far', remote: { apiUrl: 'https://example.org' } },
    });
    for (const [name, spec] of [
      ['far', { listenerName: 'far' }],
      ['gone', { listenerName: 'gone', placeNamespace: 'agents' }],
    ] as const) {
      await create(name, { custom_url: `https://${name}.agents.test` });
      await serve(name, spec);
      const answer = await waitFor(async () => {
        const one = await ask(`${name}.agents.test`);
        return one.status !== 503 && one;
      });
      expect([answer.status, answer.headers['x-agent']]).toEqual([404, undefined]);
    }
  });

  it.each(['no address', 'https://example.org', 'file:///etc/passwd', 'http://169.254.169.254/latest'])(
    'leads nowhere for %s where a listener should have written an address',
    async (url) => {
      const name = `wrong-${url.length}`;
      await create(name, { custom_url: `https://${name}.agents.test` });
      await serve(name, { url });
      const { id } = await waitFor(async () => {
        const one = await shown(tenant, name);
        return one.url !== null && one;
      });
      // what is watched comes in its order: with the next revision the address of the first is known
      const next = randomUUID();
      await makeRevision(api.client, tenant, { name, id: next, number: 2 });
      await waitFor(
        async () => (await tenant.call('GET', `/v2/deployments/${id}/revisions/${next}`)).status === 200,
      );
      const answer = await ask(`${name}.agents.test`);
      expect([answer.status, answer.text]).toEqual([
        503,
        JSON.stringify({ detail: `Deployment ${name} does not serve yet` }),
      ]);
      expect((await fetch(`${api.url}/ok`)).status).toBe(200);
    },
  );
});
