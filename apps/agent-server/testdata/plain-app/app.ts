interface Environment {
  readonly user?: { readonly identity: string };
}

const hooks: object[] = [];

/** No router: it gets what the server has no route for. */
export default {
  async fetch(request: Request, { user }: Environment): Promise<Response> {
    const path = new URL(request.url).pathname;
    if (path === '/hooks') return Response.json(hooks);
    if (path === '/hook')
      hooks.push({ of: ((await request.json()) as { run_id: string }).run_id, user: user?.identity });
    if (path === '/nothing') return undefined as unknown as Response;
    if (path === '/throw') throw new Error('of the app: hunter2');
    return Response.json({ path, user: user?.identity ?? null });
  },
};
