import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RestClient } from './rest-client.js';

describe('RestClient', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  const serve = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it('keeps its key when the server redirects', async () => {
    const seen: unknown[] = [];
    const other = await serve((request, response) => {
      seen.push(request.headers['x-api-key']);
      response.end('{}');
    });
    const url = await serve((_request, response) => {
      response.writeHead(302, { location: `${other}/taken` }).end();
    });
    const rest = new RestClient({ url, key: 'secret' });
    const moved = { exit: 'unreachable', message: expect.stringContaining(`redirects to ${other}/taken`) };
    await expect(rest.request('GET', '/v2/deployments')).rejects.toMatchObject(moved);
    await expect(rest.lines('/logs', { silentMs: 5_000 }).next()).rejects.toMatchObject(moved);
    expect(seen).toEqual([]);
  });

  it('ends an answer without an end', async () => {
    const url = await serve((_request, response) => {
      const piece = Buffer.alloc(1_048_576, 'x');
      const send = (): void => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    });
    const rest = new RestClient({ url, key: 'k' });
    await expect(rest.request('GET', '/')).rejects.toThrow(/longer than 67108864 bytes/);
    await expect(rest.lines('/', { silentMs: 5_000 }).next()).rejects.toThrow(/longer than 67108864 bytes/);
  });
});
