interface Environment {
  readonly user?: { readonly identity: string };
}

/** No router: it gets what the server has no route for. */
export default {
  fetch(request: Request, { user }: Environment): Response {
    const path = new URL(request.url).pathname;
    if (path === '/nothing') return undefined as unknown as Response;
    if (path === '/throw') throw new Error('of the app: hunter2');
    return Response.json({ path, user: user?.identity ?? null });
  },
};
