import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RestClient, RestRedirectError, RestUnreachableError } from './rest-client.js';

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
    const asked = [rest.request('GET', '/v2/deployments'), rest.lines('/logs', { silentMs: 5_000 }).next()];
    for (const answer of asked) {
      await expect(answer).rejects.toThrow(RestRedirectError);
      await expect(answer).rejects.toThrow(`redirects to ${other}/taken (HTTP 302)`);
    }
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

  it('reports that nothing answered, with the error of the connection', async () => {
    const url = await serve((request) => request.socket.destroy());
    const answer = new RestClient({ url, key: 'k' }).request('GET', '/runs');
    await expect(answer).rejects.toThrow(RestUnreachableError);
    await expect(answer).rejects.toMatchObject({
      message: `the REST interface at ${url} did not answer`,
      cause: expect.objectContaining({ message: 'fetch failed' }),
    });
  });

  it.each([
    ['nothing', () => undefined],
    ['a part', (_request, response) => void response.write('{')],
  ] as const satisfies readonly [string, RequestListener][])(
    'gives up a server that sends %s within its time',
    async (_what, answer) => {
      const rest = new RestClient({ url: await serve(answer), key: 'k' }, { timeoutMs: 300 });
      await expect(rest.request('GET', '/v1/warnings')).rejects.toThrow(RestUnreachableError);
    },
  );

  it.each([
    [403, '{"detail":"this key may not list keys"}', 'this key may not list keys'],
    [500, '<html>', 'the answer was HTTP 500'],
    [
      422,
      '{"detail":[{"loc":["body","name"],"msg":"is missing"},{"loc":["body"],"msg":"is no object"}]}',
      'name: is missing; is no object',
    ],
    [400, '{"detail":[null,{"loc":"x"},{"loc":[1,{}],"msg":7}]}', 'the answer was HTTP 400'],
    [422, '{"detail":[null,{"loc":["body","name",0,{}],"msg":"is missing"}]}', 'name.0: is missing'],
    [400, '{"detail":{"msg":"x"}}', 'the answer was HTTP 400'],
    [400, '{"detail":[]}', 'the answer was HTTP 400'],
  ])('throws a refusal with HTTP %d and %s as text', async (status, body, message) => {
    const url = await serve((_request, response) => response.writeHead(status).end(body));
    const answer = new RestClient({ url, key: 'k' }).request('POST', '/runs/query', {});
    await expect(answer).rejects.toMatchObject({
      name: 'RestError',
      status,
      message: `${message} (POST /runs/query at ${url})`,
    });
  });

  it('cuts a refusal of more than 2,000 letters', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(500).end(JSON.stringify({ detail: 'x'.repeat(2_001) })),
    );
    const answer = new RestClient({ url, key: 'k' }).request('GET', '/a');
    await expect(answer).rejects.toThrow(`${'x'.repeat(2_000)}… (GET /a at ${url})`);
  });

  it('reads an empty answer as undefined and refuses one that is no JSON', async () => {
    const answers = ['', '<html>'];
    const url = await serve((_request, response) => response.end(answers.shift()));
    const rest = new RestClient({ url, key: 'k' });
    await expect(rest.request('DELETE', '/a')).resolves.toBeUndefined();
    await expect(rest.request('GET', '/a')).rejects.toThrow(/answered with something other than JSON/);
  });
});
