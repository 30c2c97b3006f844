import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Resolve } from '#lib/outbound';
import { EndpointGuard } from './transport.js';
import { EndpointRefusedError } from './object-store-error.js';
import { testDestination } from './test-destination.js';

const KEYS = { accessKeyId: 'AK', secretAccessKey: 'secret', attempts: 1, timeoutMs: 2000 };

/** A server that must never be reached, on both families of loopback where the machine has them. */
class Canary {
  hits = 0;
  port = 0;
  readonly #servers: Server[] = [];

  async start(): Promise<void> {
    await this.#listen('127.0.0.1', 0);
    this.port = (this.#servers[0]?.address() as AddressInfo).port;
    await this.#listen('::1', this.port).catch(() => undefined);
  }

  stop(): void {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #listen(host: string, port: number): Promise<void> {
    const server = createServer((_, response) => response.writeHead(404).end());
    server.on('connection', () => this.hits++);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    this.#servers.push(server);
  }
}

describe('an endpoint of a tenant', () => {
  const canary = new Canary();
  beforeAll(() => canary.start());
  afterAll(() => canary.stop());
  beforeEach(() => (canary.hits = 0));

  const test = (endpoint: string, allowPrivateEndpoints?: boolean) =>
    testDestination(
      { ...KEYS, endpoint: endpoint.replace('PORT', String(canary.port)), allowPrivateEndpoints },
      'bucket',
      undefined,
    );

  const LOOPBACK = [
    'http://127.0.0.1:PORT',
    'http://127.1:PORT',
    'http://127.0.1:PORT',
    'http://2130706433:PORT',
    'http://0x7f000001:PORT',
    'http://0x7f.1:PORT',
    'http://0177.0.0.1:PORT',
    'http://017700000001:PORT',
    'http://①②⑦.⓪.⓪.①:PORT',
    'http://127。0。0。1:PORT',
    'http://%31%32%37.0.0.1:PORT',
    'http://localhost:PORT',
    'http://LOCALHOST:PORT',
    'http://[::ffff:127.0.0.1]:PORT',
    'http://[::ffff:7f00:1]:PORT',
    'http://[0:0:0:0:0:ffff:7f00:1]:PORT',
  ];

  it.each([
    ...LOOPBACK,
    'http://localhost.:PORT',
    'http://x.localhost:PORT',
    'http://[::1]:PORT',
    'https://127.0.0.1:PORT',
  ])('does not reach this machine by %s', async (endpoint) => {
    const check = await test(endpoint);
    expect(check).toMatchObject({ kind: 'refused', message: 'Invalid endpoint', retryable: false });
    expect(check).toMatchObject({ detail: 'PrivateEndpoint' });
    expect(JSON.stringify(check)).toContain('AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS=true');
    expect(canary.hits).toBe(0);
  });

  it.each(LOOPBACK)('reaches this machine by %s where private endpoints are allowed', async (endpoint) => {
    expect(await test(endpoint, true)).toMatchObject({ message: 'Invalid endpoint', detail: 'NoSuchKey' });
    expect(canary.hits).toBeGreaterThan(0);
  });

  it.each([
    'http://10.0.0.1',
    'http://172.16.0.1',
    'http://192.168.0.1',
    'http://0xa000001',
    'http://[fc00::1]',
    'http://[fd12:3456::1]',
    'http://[::ffff:10.0.0.1]',
    'http://[64:ff9b::a00:1]',
  ])('does not reach a private network by %s', async (endpoint) => {
    expect(await test(endpoint)).toMatchObject({ kind: 'refused', detail: 'PrivateEndpoint' });
  });

  it.each([
    'http://169.254.169.254',
    'http://2852039166',
    'http://0xA9FEA9FE',
    'http://0xa9.0xfe.0xa9.0xfe',
    'http://0251.0376.0251.0376',
    'http://169.254.43518',
    'http://[::ffff:169.254.169.254]',
    'http://[::ffff:a9fe:a9fe]',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://[2002:a9fe:a9fe::]',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://168.63.129.16',
    'http://100.100.100.200',
    'http://metadata.google.internal',
    'http://METADATA.google.internal.',
    'http://metadata',
    'http://instance-data',
    'http://0.0.0.0:PORT',
    'http://0:PORT',
    'http://[::]:PORT',
    'http://224.0.0.1',
    'http://255.255.255.255',
    'ftp://127.0.0.1:PORT',
    'file:///etc/passwd',
    'gopher://127.0.0.1:PORT',
    'http://user:password@127.0.0.1:PORT',
    'http://example.org@127.0.0.1:PORT',
    'http://127.0.0.1:PORT/with/path',
    'http://127.0.0.1:PORT?x',
    'http://127.0.0.1:PORT#example.org',
    'not a url',
  ])('never reaches %s, even where private endpoints are allowed', async (endpoint) => {
    const check = await test(endpoint, true);
    expect(check).toMatchObject({ kind: 'refused', message: 'Invalid endpoint', retryable: false });
    expect(check).toMatchObject({ detail: 'InvalidEndpoint' });
    expect(canary.hits).toBe(0);
  });

  it('refuses a server that changes to another protocol', async () => {
    const changing = createServer();
    changing.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await new Promise<void>((resolve) => changing.listen(0, '127.0.0.1', resolve));
    const { port } = changing.address() as AddressInfo;
    expect(await test(`http://127.0.0.1:${port}`, true)).toMatchObject({ kind: 'refused' });
    changing.closeAllConnections();
    changing.close();
  });

  it('follows no redirect away from the endpoint', async () => {
    const leading = createServer((_, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${canary.port}/stolen` }).end(),
    );
    await new Promise<void>((resolve) => leading.listen(0, '127.0.0.1', resolve));
    const { port } = leading.address() as AddressInfo;
    expect(await test(`http://127.0.0.1:${port}`, true)).toMatchObject({ kind: 'refused' });
    expect(canary.hits).toBe(0);
    leading.closeAllConnections();
    leading.close();
  });
});

describe('EndpointGuard.lookup', () => {
  const ADDRESS = {
    good: '8.8.8.8',
    other: '2606:4700::1',
    loopback: '127.0.0.1',
    metadata: '169.254.169.254',
  };
  type Word = keyof typeof ADDRESS;

  /** A resolver whose answers come one after the other, as those of a rebinding name do. */
  function answering(...answers: readonly (readonly Word[])[]): Resolve {
    const left = [...answers];
    return (_name, _options, callback) =>
      callback(
        null,
        (left.shift() ?? []).map((word) => ({ address: ADDRESS[word], family: word === 'other' ? 6 : 4 })),
      );
  }

  function ask(guard: EndpointGuard, all = true): Promise<string> {
    return new Promise((resolve) => {
      guard.lookup('name.example', { all }, (error, found) => {
        if (error instanceof EndpointRefusedError) return resolve(`refused: ${error.code}`);
        if (error) return resolve(error.code ?? 'error');
        const list: readonly LookupAddress[] = Array.isArray(found) ? found : [{ address: found, family: 4 }];
        resolve(list.map(({ address }) => address).join());
      });
    });
  }

  it.each<[string, readonly Word[], boolean, string]>([
    ['answers the addresses of a public name', ['good', 'other'], false, '8.8.8.8,2606:4700::1'],
    ['refuses a name of this machine', ['loopback'], false, 'refused: PrivateEndpoint'],
    ['answers it where that is allowed', ['loopback'], true, '127.0.0.1'],
    ['refuses a name with one private address', ['good', 'loopback'], false, 'refused: PrivateEndpoint'],
    ['refuses a name of the metadata service', ['metadata'], true, 'refused: InvalidEndpoint'],
    ['refuses a name with one such address', ['good', 'metadata'], true, 'refused: InvalidEndpoint'],
    ['finds no name without addresses', [], false, 'ENOTFOUND'],
  ])('%s', async (_, words, allowPrivate, expected) => {
    expect(await ask(new EndpointGuard(allowPrivate, answering(words)))).toBe(expected);
  });

  it('checks a name again that resolves differently the next time', async () => {
    const guard = new EndpointGuard(false, answering(['good'], ['loopback'], ['metadata']));
    expect(await ask(guard)).toBe('8.8.8.8');
    expect(await ask(guard)).toBe('refused: PrivateEndpoint');
    expect(await ask(guard)).toBe('refused: InvalidEndpoint');
  });

  it('returns one address when asked for one, and checks all', async () => {
    const guard = new EndpointGuard(false, answering(['good', 'other'], ['good', 'loopback']));
    expect(await ask(guard, false)).toBe('8.8.8.8');
    expect(await ask(guard, false)).toBe('refused: PrivateEndpoint');
  });
});
