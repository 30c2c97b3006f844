import { Hono } from 'hono';

/** Middleware around every route of the server. */
export const app = new Hono();

app.use(async (c, next) => {
  if (c.req.header('x-blocked')) return c.json({ detail: 'blocked by the app' }, 403);
  await next();
  c.header('x-middleware', 'around');
  return undefined;
});
