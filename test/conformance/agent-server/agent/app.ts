import { Client } from '@langchain/langgraph-sdk';

/** Without an address and a key: the agent's own server. */
const client = new Client();

/** Gets what the server has no route for. */
export const app = {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/custom/echo')
      return new Response(request.body, { headers: { 'x-app': request.method } });
    if (pathname === '/custom/hook') {
      const run = (await request.json()) as { readonly run_id: string; readonly values: object };
      await client.store.putItem(['hooks'], run.run_id, { values: run.values });
      return new Response(null, { status: 204 });
    }
    if (pathname === '/custom/run')
      return Response.json(await client.runs.wait(null, 'counter', { input: {} }));
    return Response.json({ detail: 'Not found' }, { status: 404 });
  },
};
