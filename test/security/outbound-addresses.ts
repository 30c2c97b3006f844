import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CONDITION, findCondition, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { FindArena } from './arena.js';

/** Addresses that no tenant may make the platform dial, in every way to write them; PORT is where a canary listens. */
const FORBIDDEN: readonly string[] = [
  'http://169.254.169.254',
  'http://169.254.169.254/latest/meta-data',
  'http://169.254.169.254:80',
  'https://169.254.169.254',
  'http://2852039166',
  'http://0xA9FEA9FE',
  'http://0xa9.0xfe.0xa9.0xfe',
  'http://0251.0376.0251.0376',
  'http://025177524776',
  'http://169.254.43518',
  'http://169.16689662',
  'http://①⑥⑨.②⑤④.①⑥⑨.②⑤④',
  'http://169。254。169。254',
  'http://%31%36%39.254.169.254',
  'http://[::ffff:169.254.169.254]',
  'http://[::ffff:a9fe:a9fe]',
  'http://[0:0:0:0:0:ffff:a9fe:a9fe]',
  'http://[::ffff:0:169.254.169.254]',
  'http://[::169.254.169.254]',
  'http://[64:ff9b::a9fe:a9fe]',
  'http://[64:ff9b::169.254.169.254]',
  'http://[2002:a9fe:a9fe::]',
  'http://[fe80::1]',
  'http://[fe80::1%25eth0]',
  'http://[fd00:ec2::254]',
  'http://[fd20:ce::254]',
  'http://[ff02::1]',
  'http://[::]:PORT',
  'http://[::ffff:0:0]:PORT',
  'http://0.0.0.0:PORT',
  'http://0:PORT',
  'http://0x0:PORT',
  'http://168.63.129.16',
  'http://100.100.100.200',
  'http://192.0.0.192',
  'http://224.0.0.1',
  'http://240.0.0.1',
  'http://255.255.255.255',
  'http://metadata',
  'http://metadata.google.internal',
  'http://METADATA.google.internal.',
  'http://metadata.goog',
  'http://metadata.azure.internal',
  'http://metadata.tencentyun.com',
  'http://instance-data',
  'http://instance-data.ec2.internal',
  'http://user:password@127.0.0.1:PORT',
  'http://user@127.0.0.1:PORT',
  'http://example.org@127.0.0.1:PORT',
  'http://127.0.0.1:PORT@169.254.169.254',
  'http://127.0.0.1:PORT#@example.org',
  'http://127.0.0.1:PORT?x',
  'http://127.0.0.1:PORT/with/path',
  'http://127.0.0.1:PORT\\@example.org',
  'http://127.0.0.1:99999',
  'http:///127.0.0.1:PORT',
  'http:127.0.0.1:PORT',
  '//127.0.0.1:PORT',
  '127.0.0.1:PORT',
  'ftp://127.0.0.1:PORT',
  'gopher://127.0.0.1:PORT',
  'file:///etc/passwd',
  'unix:///var/run/docker.sock',
  'javascript:alert(1)',
  'data:text/plain,x',
  'http://127.0.0.1:PORT\r\nx-injected: yes',
  'not a url',
];

const REDIRECTS = [301, 302, 303, 307, 308];

/** A server that must never be called; it counts who does. */
async function listen(answer: (path: string) => { status: number; location?: string }) {
  const paths: string[] = [];
  const server: Server = createServer((request, response) => {
    paths.push(request.url ?? '');
    const { status, location } = answer(request.url ?? '');
    response.writeHead(status, location === undefined ? {} : { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, paths, stop };
}

/** Server-side request forgery: every place where a tenant writes an address. */
export function attackOutboundAddresses(arena: FindArena): void {
  describe('addresses that tenants write', () => {
    let canary: Awaited<ReturnType<typeof listen>>;
    beforeAll(async () => {
      canary = await listen(() => ({ status: 404 }));
    });
    afterAll(() => canary.stop());

    const config = (endpoint: string) => ({
      bucket_name: 'bucket',
      region: 'us-east-1',
      endpoint_url: endpoint.replace('PORT', String(canary.port)),
    });
    const credentials = { access_key_id: 'A', secret_access_key: 'B' };
    const makeDestination = (endpoint: string) =>
      arena().transcript.call('POST', `${arena().restUrl}/api/v1/bulk-exports/destinations`, {
        key: arena().attacker.keys.workspace,
        body: {
          destination_type: 'object_store',
          display_name: 'forged',
          credentials,
          config: config(endpoint),
        },
      });

    it.each(FORBIDDEN)('refuses a destination at %j', async (endpoint) => {
      const { status, text } = await makeDestination(endpoint);
      expect([400, 422].includes(status) ? 'refused' : `${status} ${text}`).toBe('refused');
      expect(canary.paths).toEqual([]);
    });

    it.each(REDIRECTS)('follows no redirect of a destination: %i', async (status) => {
      const leading = await listen(() => ({ status, location: `http://127.0.0.1:${canary.port}/stolen` }));
      try {
        const answer = await makeDestination(`http://127.0.0.1:${leading.port}`);
        expect(answer.status).toBe(400);
        // it was asked, so that the redirect was there to be followed
        expect(leading.paths.length).toBeGreaterThan(0);
        expect(canary.paths).toEqual([]);
      } finally {
        leading.stop();
      }
    });

    it('refuses the same in objects of Kubernetes', async () => {
      const { kube, attacker } = arena();
      const { namespace } = attacker;
      const credentialsSecretRef = { name: 'forged-credentials' };
      await kube.create(SECRETS, {
        metadata: { ...credentialsSecretRef, namespace },
        data: { access_key_id: btoa('id'), secret_access_key: btoa('key') },
      });
      const endpoints = ['http://169.254.169.254', 'http://0xa9fea9fe', 'http://metadata.google.internal'];
      await Promise.all(
        endpoints.map(async (endpointUrl, at) => {
          const name = `forged-${at}`;
          await kube.create(RESOURCES.BulkExportDestination, {
            metadata: { name, namespace },
            spec: {
              displayName: name,
              type: 'object_store',
              credentialsSecretRef,
              config: { bucketName: 'bucket', region: 'us-east-1', endpointUrl, includeBucketInPrefix: true },
            },
          });
          const ready = await waitFor(
            async () => {
              const { status } = await kube.get(RESOURCES.BulkExportDestination, { namespace, name });
              const found = findCondition(status?.conditions, CONDITION.ready);
              return found?.status === 'False' && found;
            },
            { what: 'the verdict on the destination' },
          );
          expect([endpointUrl, ready.message]).toEqual([endpointUrl, expect.stringMatching(/endpoint/i)]);
        }),
      );
    });

    it('lets neither webhooks nor headers of tracing choose an address', async () => {
      const { attacker, transcript } = arena();
      const url = `http://127.0.0.1:${canary.port}`;
      const key = attacker.keys.workspace;
      const body = { assistant_id: 'agent', input: { messages: [{ role: 'user', content: 'hello' }] } };
      const hooked = await transcript.call('POST', `${attacker.agentUrl}/runs/wait`, {
        key,
        body: { ...body, webhook: url },
      });
      expect(hooked.status).toBe(422);
      const replicas = encodeURIComponent(JSON.stringify([{ apiUrl: url, apiKey: 'x', projectName: 'x' }]));
      const traced = await transcript.call('POST', `${attacker.agentUrl}/runs/wait`, {
        key,
        body,
        headers: {
          baggage: `langsmith-replicas=${replicas},langsmith-project=x`,
          'langsmith-trace': '20260101T000000000000Z00000000-0000-4000-8000-000000000001',
          traceparent: '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
          'langsmith-api-url': url,
          'x-forwarded-host': `127.0.0.1:${canary.port}`,
        },
      });
      expect(traced.status).toBe(200);
      const { body: before } = await attacker.rest.get(
        `/sessions?name=${encodeURIComponent(attacker.project)}`,
      );
      // no project but its own was chosen by the headers either
      expect(before).toHaveLength(1);
      expect((await attacker.rest.get<unknown[]>('/sessions?name=x')).body).toEqual([]);
      expect(canary.paths).toEqual([]);
    });
  });
}
