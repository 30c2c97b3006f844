import { setTimeout } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { Hono } from 'hono';

interface Environment {
  readonly Bindings: { readonly user?: { readonly identity: string } };
}

const client = new Client();
const seen = { left: 0, hooks: [] as object[] };

/** Everything that an app does well, and everything that it does badly. */
export const app = new Hono<Environment>();

app.use('/threads', async (c, next) => {
  if (c.req.header('x-blocked')) return c.json({ detail: 'blocked by the app' }, 403);
  if (c.req.header('x-stamp')) {
    const body: { metadata?: object } = await c.req.json();
    body.metadata = { stamped: true };
  }
  await next();
  c.header('x-middleware', 'around');
  return undefined;
});
app.use('/runs/*', async (c, next) => {
  await next();
  c.header('x-middleware', 'around');
});
app.use('/store/*', async (c, next) => {
  await next();
  // another body under the headers of the first
  if (c.req.header('x-shorter')) c.res = new Response('{}', c.res);
});
app.post('/assistants/count', (c) => c.json(42));
app.get('/ok', (c) => c.json({ of: 'the app' }));

const custom = new Hono<Environment>().basePath('/custom');
custom.get('/hello/:name?', (c) =>
  c.json({
    name: c.req.param('name') ?? null,
    user: c.env.user?.identity ?? null,
    host: c.req.header('host'),
    internal: Object.keys(c.req.header()).filter((name) => name.startsWith('x-agentplane')),
  }),
);
custom.post(
  '/echo',
  (c) => new Response(c.req.raw.body, { headers: { 'x-length': c.req.header('content-length') ?? '' } }),
);
custom.post('/hook', async (c) => {
  const { run_id, kwargs } = await c.req.json<{ run_id: string; kwargs: object }>();
  const { user } = c.env;
  seen.hooks.push({ run_id, kwargs, query: c.req.query(), headers: c.req.header(), user: user?.identity });
  return c.body(null, 204);
});
custom.get('/hooks', (c) => c.json(seen.hooks));
custom.get('/client', async (c) => c.json(await client.threads.count()));
custom.get('/left', (c) => c.json(seen.left));
custom.get('/throw', () => {
  throw new Error('of the app: hunter2');
});
custom.get('/never', () => new Promise<Response>(() => undefined));
custom.get('/endless', (c) => {
  c.req.raw.signal.addEventListener('abort', () => (seen.left += 1));
  const body = new ReadableStream({
    async pull(controller) {
      controller.enqueue(new Uint8Array(65_536));
      await setTimeout(1);
    },
  });
  return new Response(body);
});
custom.get('/broken', () => {
  let pieces = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (pieces++ > 2) controller.error(new Error('broken in the middle'));
      else controller.enqueue(new TextEncoder().encode('piece '));
    },
  });
  return new Response(body);
});
custom.get('/headers', () => {
  const headers = new Headers({
    connection: 'x-hop, close',
    'x-hop': '1',
    'keep-alive': 'timeout=1',
    'transfer-encoding': 'chunked',
    upgrade: 'h2c',
    'x-agentplane-pass': 'x',
    'x-twice': 'a',
    'cache-control': 'max-age=60',
  });
  headers.append('x-twice', 'b');
  headers.append('set-cookie', 'a=1');
  headers.append('set-cookie', 'b=2');
  return new Response('body', { headers });
});
custom.get('/short', () => new Response('four', { headers: { 'content-length': '400' } }));
custom.get(
  '/long',
  () => new Response('HTTP/1.1 200 OK\r\n\r\nsmuggled', { headers: { 'content-length': '2' } }),
);
custom.get('/die', () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<Response>(() => undefined);
});
custom.get('/hang', () => {
  for (;;);
});
app.route('/', custom);
app.onError((_error, c) => c.json({ detail: 'of the app' }, 500));
