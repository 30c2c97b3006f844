import { gzipSync, zstdCompressSync } from 'node:zlib';
import { sendRaw } from '#lib/testing';
import type { FindArena } from './arena.js';
import { findServers, type RawServer } from './raw-servers.js';

/** Marks the second of two requests; no answer may come of it. */
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';

/** Requests that two servers could read in two ways, in the words of a client that hides a second one. */
const SMUGGLING: Readonly<Record<string, (server: RawServer) => string>> = {
  'both lengths': ({ head }) =>
    `${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'both lengths the other way round': ({ head }) =>
    `${head}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'two lengths': ({ head }) => `${head}content-length: 2\r\ncontent-length: 60\r\n\r\n{}${SMUGGLED}`,
  'a list of lengths': ({ head }) => `${head}content-length: 2, 60\r\n\r\n{}${SMUGGLED}`,
  'a signed length': ({ head }) => `${head}content-length: +2\r\n\r\n{}${SMUGGLED}`,
  'a negative length': ({ head }) => `${head}content-length: -2\r\n\r\n{}${SMUGGLED}`,
  'a hexadecimal length': ({ head }) => `${head}content-length: 0x2\r\n\r\n{}${SMUGGLED}`,
  'an unknown coding': ({ head }) => `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'two codings': ({ head }) =>
    `${head}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'chunked, and not at the end': ({ head }) =>
    `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'a blank before the colon': ({ head }) => `${head}transfer-encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'a folded header': ({ head }) => `${head}x-a: b\r\n transfer-encoding: chunked\r\n\r\n${SMUGGLED}`,
  'a bare line feed in the headers': ({ head }) =>
    `${head}x-a: b\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  'a NUL in a header': ({ head }) => `${head}x-a: b\u0000\r\n\r\n${SMUGGLED}`,
  'a bad size of a chunk': ({ head }) => `${head}transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n${SMUGGLED}`,
  'a chunk without its end': ({ head }) =>
    `${head}transfer-encoding: chunked\r\n\r\n1\r\nxx0\r\n\r\n${SMUGGLED}`,
};

/** Requests whose headers are too much; the connection is ended. */
const HEADERS: Readonly<Record<string, (server: RawServer) => string>> = {
  'a long header': ({ get }) => `${get}x-a: ${'x'.repeat(100_000)}\r\n\r\n`,
  'a long line': ({ get }) => get.replace(' HTTP', `?${'x'.repeat(100_000)} HTTP`) + '\r\n',
  'many headers': ({ get }) => `${get}${'x-a: b\r\n'.repeat(20_000)}\r\n`,
  'a long extension of a chunk': ({ head }) =>
    `${head}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(100_000)}\r\n{\r\n`,
  'no host': () => 'GET /info HTTP/1.1\r\nconnection: close\r\n\r\n',
  'an unknown method': ({ get }) => `${get.replace('GET', 'BREW')}\r\n`,
  'no HTTP': () => 'EHLO example.org\r\n\r\n',
  'HTTP/2 without TLS': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
};

interface BodyRow {
  readonly body: () => string | Buffer<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly statuses: readonly number[];
}

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
/** 160 MiB of blanks, more than the api takes, in parts that inflate to what follows each other. */
const bomb = (compress: (text: Buffer) => Buffer) => {
  const part = compress(Buffer.alloc(1 << 20, ' '));
  return Buffer.concat(Array.from({ length: 160 }, () => part));
};
const RUN = '{"id":"00000000-0000-4000-8000-000000000001","name":"n","run_type":"chain"';

/** Bodies for `POST /runs` of the api and `POST /threads` of an agent. */
const BODIES: Readonly<Record<string, BodyRow>> = {
  '50,000 levels': { body: () => nested(50_000), statuses: [400, 413, 422] },
  '200 levels of a field': { body: () => `${RUN},"metadata":${nested(200)}}`, statuses: [400, 413, 422] },
  '500,000 lists': { body: () => '['.repeat(500_000), statuses: [400, 413, 422] },
  'no JSON': { body: () => '{"a"', statuses: [400, 422] },
  'a gzip bomb': {
    body: () => bomb(gzipSync),
    headers: { 'content-encoding': 'gzip' },
    statuses: [400, 413, 415],
  },
  'a zstd bomb': {
    body: () => bomb(zstdCompressSync),
    headers: { 'content-encoding': 'zstd' },
    statuses: [400, 413, 415],
  },
  'a zstd window of 2 GiB': {
    body: () => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xa8, 1, 0, 0]),
    headers: { 'content-encoding': 'zstd' },
    statuses: [400, 413, 415],
  },
  'codings in codings': {
    body: () => gzipSync(gzipSync('{}')),
    headers: { 'content-encoding': 'gzip, gzip' },
    statuses: [400, 415],
  },
  XML: {
    body: () => '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    headers: { 'content-type': 'application/xml' },
    statuses: [400, 415],
  },
};

/** What two readers of JSON could take for different things, as text. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'a name twice': '"a":1,"a":2',
  'a name twice in two spellings': '"a":1,"\\u0061":2',
  'a NUL in a name': '"a\\u0000b":1',
  'half a character in a name': '"a\\ud800":1',
};

/** Secrets of a deployment that would run code in its agent or give trust away. */
const DANGEROUS = ['NODE_OPTIONS', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'PATH', 'NODE_TLS_REJECT_UNAUTHORIZED'];

/** Places of a repository that git or ssh would take for a command, an option or a file. */
const GIT = [
  { repo_url: 'ext::sh -c "touch /tmp/attack"' },
  { repo_url: '--upload-pack=touch /tmp/attack' },
  { repo_url: 'file:///etc' },
  { repo_url: 'https://example.org/a', repo_ref: '--upload-pack=x' },
  { repo_url: 'https://example.org/a', repo_ref: 'a..b' },
  { repo_url: 'https://example.org/a', graph_config_path: '../../etc/passwd' },
];

const parts = (count: number, head: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `--b\r\n${head(at)}\r\n\r\n{}\r\n`).join('') + '--b--\r\n';
const named = (name: string) =>
  `content-disposition: form-data; name="${name}"\r\ncontent-type: application/json`;
const RUN_ID = '00000000-0000-4000-8000-000000000002';

/** Bodies for `POST /runs/multipart`. */
const FORMS: Readonly<Record<string, () => string>> = {
  '50,000 parts': () => parts(50_000, (at) => named(`post.${at}`)),
  'a header of 3 MB': () => parts(1, () => `${named('post.x')}\r\nx-a: ${'x'.repeat(3_000_000)}`),
  'a name that leaves': () => parts(1, () => named('../../post')),
  'a name of a prototype': () => parts(1, () => named(`post.${RUN_ID}.__proto__`)),
  'no end': () => `--b\r\n${named('post.x')}\r\n\r\n${'x'.repeat(100_000)}`,
  'no parts': () => 'x'.repeat(100_000),
};

/** Bodies and headers that are built to cost the server more than the client, or to be read in two ways. */
export function attackWithBombs(arena: FindArena): void {
  describe('hostile requests', () => {
    let servers: readonly RawServer[];
    beforeAll(async () => {
      servers = await findServers(arena());
    });

    afterEach(async () => {
      expect((await arena().victim.rest.get('/sessions')).status).toBe(200);
    });

    /** Whether a connection was ended after at most one answer, and that an error; otherwise the statuses. */
    async function exchange(server: RawServer, text: string): Promise<string> {
      const { status, body } = await sendRaw(server.port, text, server.connect());
      const statuses = [status, ...[...body.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code))];
      const isRefused = statuses.length === 1 && (Number.isNaN(status) || status >= 400);
      return `${server.name}: ${isRefused ? 'refused' : statuses.join()}`;
    }

    it.each(Object.entries(SMUGGLING))('never reads a second request out of %s', async (_, text) => {
      const outcomes = await Promise.all(servers.map((server) => exchange(server, text(server))));
      expect(outcomes).toEqual(servers.map(({ name }) => `${name}: refused`));
    });

    it.each(Object.entries(HEADERS))('refuses %s', async (_, text) => {
      const outcomes = await Promise.all(servers.map((server) => exchange(server, text(server))));
      expect(outcomes).toEqual(servers.map(({ name }) => `${name}: refused`));
    });

    it.each(Object.entries(BODIES))('refuses a body that is %s', async (_, { body, headers, statuses }) => {
      const { attacker, restUrl } = arena();
      for (const url of [`${restUrl}/runs`, `${attacker.agentUrl}/threads`]) {
        const answer = await fetch(url, {
          method: 'POST',
          headers: {
            'x-api-key': attacker.keys.workspace,
            'content-type': 'application/json',
            ...headers,
          },
          body: body(),
        });
        arena().transcript.add(`POST ${url}`, await answer.text());
        expect([url, statuses.includes(answer.status) ? 'refused' : answer.status]).toEqual([url, 'refused']);
      }
    });

    it.each(Object.entries(FORMS))('refuses a form that has %s', async (_, body) => {
      const { attacker, restUrl } = arena();
      const answer = await fetch(`${restUrl}/runs/multipart`, {
        method: 'POST',
        headers: {
          'x-api-key': attacker.keys.workspace,
          'content-type': 'multipart/form-data; boundary=b',
        },
        body: body(),
      });
      arena().transcript.add('POST /runs/multipart', await answer.text());
      expect([400, 413, 422]).toContain(answer.status);
    });

    it.each(Object.entries(AMBIGUOUS))('refuses JSON with %s', async (_, members) => {
      const { attacker, restUrl } = arena();
      const { tenantId, keys } = attacker;
      const rows = [
        [`${restUrl}/v2/deployments`, `{"name":"n","source_config":{${members}}}`],
        [`${restUrl}/api/v1/api-key`, `{"description":"n",${members}}`],
        [`${attacker.agentUrl}/threads`, `{"metadata":{${members}}}`],
        [`${attacker.agentUrl}/assistants`, `{"graph_id":"agent","metadata":{${members}}}`],
      ] as const;
      for (const [url, body] of rows) {
        const headers = { 'x-api-key': keys.workspace, 'x-tenant-id': tenantId };
        const answer = await fetch(url, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
        });
        const text = await answer.text();
        expect([url, [400, 422].includes(answer.status) ? 'refused' : text]).toEqual([url, 'refused']);
      }
    });

    const deploy = (name: string, more: object) =>
      arena().attacker.rest.post('/v2/deployments', { name, ...more });

    it.each(DANGEROUS)('refuses the deployment secret %s', async (name) => {
      const { status } = await deploy('dangerous', {
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: 'sample-agent' },
        secrets: [{ name, value: '--require /tmp/attack.js' }],
      });
      expect(status).toBe(422);
    });

    it.each(GIT)('refuses the repository %j', async ({ repo_url, ...revision }) => {
      const { status } = await deploy('from git', {
        source: 'git_host',
        source_config: { repo_url },
        source_revision_config: revision,
      });
      expect(status).toBe(422);
    });

    it('keeps prototypes as they are', async () => {
      const { attacker, restUrl } = arena();
      const polluting = [
        '{"__proto__":{"isAdmin":true,"name":"polluted"}}',
        '{"constructor":{"prototype":{"isAdmin":true}}}',
        '{"metadata":{"__proto__":{"isAdmin":true}}}',
        '[{"__proto__":{"length":1}}]',
      ];
      for (const body of polluting)
        for (const url of [
          `${restUrl}/sessions`,
          `${restUrl}/v2/deployments`,
          `${attacker.agentUrl}/threads`,
          `${attacker.agentUrl}/threads/search`,
        ]) {
          const answer = await fetch(url, {
            method: 'POST',
            headers: { 'x-api-key': attacker.keys.workspace, 'content-type': 'application/json' },
            body,
          });
          expect([url, body, answer.status < 500]).toEqual([url, body, true]);
          const text = await answer.text();
          expect(text).not.toMatch(/"isAdmin":true,"name":"polluted"|\n\s+at /);
        }
      const made = await arena().transcript.call('POST', `${attacker.agentUrl}/threads`, {
        key: attacker.keys.workspace,
        body: {},
      });
      expect([made.status, made.text.includes('isAdmin')]).toEqual([200, false]);
    });
  });
}
