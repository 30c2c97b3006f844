import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askVersion } from './ask-pod.js';

describe('askVersion', () => {
  let server: Server;
  let body: string;
  let address: string;
  beforeAll(async () => {
    server = createServer(({ url }, response) => {
      response.statusCode = url === '/info' ? 200 : 404;
      response.end(url === '/info' ? body : '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it.each(['0.4.21', '0.16.7', '1.0.0-rc.1+build_7'])('reads the version %s', async (version) => {
    body = JSON.stringify({ version, flags: {} });
    expect(await askVersion(address)).toBe(version);
  });

  it.each<[string, string]>([
    ['no version', '{"flags":{}}'],
    ['a version that is no text', '{"version":{"major":1}}'],
    ['an empty version', '{"version":""}'],
    ['a version with a line break', '{"version":"1\\n2"}'],
    ['a version of 65 letters', JSON.stringify({ version: '1'.repeat(65) })],
    ['a body that is no object', 'null'],
    ['a body that is no JSON', 'hello'],
    ['a body without end', `{"version":"1","more":"${'x'.repeat(20_000)}"}`],
  ])('finds none in %s', async (_case, answer) => {
    body = answer;
    expect(await askVersion(address)).toBeUndefined();
  });

  it('finds none where nothing listens', async () => {
    expect(await askVersion(undefined)).toBeUndefined();
    expect(await askVersion('http://127.0.0.1:1')).toBeUndefined();
  });
});
