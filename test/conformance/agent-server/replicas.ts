import { join } from 'node:path';
import type { TestPostgres } from '#lib/testing';
import { GUARDED_AGENT, ServerProcess } from '../../../apps/agent-server/testdata/start-server.js';
import { send } from './clients/raw-http.js';
import { Front } from './front.js';
import type { Target } from './target.js';

export const CONFORMANCE_AGENT = join(import.meta.dirname, 'agent');

/** Operations that no row can have answered, and why. */
const REFUSED_ALWAYS: Readonly<Record<string, string>> = {
  'GET /mcp': 'the server has no stream of its own: 405',
  'DELETE /mcp': 'there are no sessions: 404',
};

/** For rows that need `tuned`. */
export const TUNED = { CRON_MIN_INTERVAL_SECONDS: '1', RUN_WEBHOOK_PRIVATE_ADDRESSES: 'true' };

/** Agent servers on one database behind one address, as processes of this machine. */
export class Replicas {
  private constructor(
    readonly target: Target,
    private readonly front: Front,
    private readonly servers: readonly ServerProcess[],
  ) {}

  static async start(
    postgres: TestPostgres,
    count: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Replicas> {
    const [{ uri }, guarded, front] = await Promise.all([
      postgres.freshDatabase(),
      postgres.freshDatabase(),
      Front.start(),
    ]);
    const [guard, ...servers] = await Promise.all([
      ServerProcess.start({ uri: guarded.uri, folder: GUARDED_AGENT }),
      ...Array.from({ length: count }, () =>
        ServerProcess.start({ uri, folder: CONFORMANCE_AGENT, env: { ...TUNED, ...env } }),
      ),
    ]);
    front.leadTo(servers.map(({ url }) => url));
    const target = { url: front.url, headers: {}, guardedUrl: guard.url };
    return new Replicas(target, front, [guard, ...servers]);
  }

  /** Routes of the agent server, as `GET /threads/{thread_id}`, for which no row got an answer, but refusals at most. */
  async unanswered(): Promise<string[]> {
    const { body } = await send(this.target, 'GET', '/openapi.json');
    const { paths } = body as { paths: Record<string, Record<string, unknown>> };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const asked = routes.filter((route) => !(route in REFUSED_ALWAYS));
    return asked.filter((route) => {
      const pattern = new RegExp(`^${route.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
      return ![...this.front.answered].some((answered) => pattern.test(answered));
    });
  }

  async stop(): Promise<void> {
    await this.front.stop();
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}
