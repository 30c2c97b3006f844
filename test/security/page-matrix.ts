import type { FindArena } from './arena.js';
import type { Named } from './rest-requests.js';
import type { HttpAnswer } from './transcript.js';

/** Parameters of the path, beside the workspace. */
type Parameters = (of: Named) => Readonly<Record<string, string>>;

const IDS: Parameters = ({ ids }) => ({ ...ids });

/** Pages of people, by their routes; each shows something of its workspace. */
export const PAGES: readonly (readonly [route: string, parameters: Parameters])[] = [
  ['GET /o/{tenant_id}/datasets/{dataset_id}', IDS],
  ['GET /o/{tenant_id}/datasets/{dataset_id}/compare', IDS],
  ['GET /o/{tenant_id}/deployments', IDS],
  ['GET /o/{tenant_id}/deployments/{deployment_id}', IDS],
  ['POST /o/{tenant_id}/deployments/{deployment_id}/threads', IDS],
  ['GET /o/{tenant_id}/deployments/{deployment_id}/threads/{thread_id}', IDS],
  ['POST /o/{tenant_id}/deployments/{deployment_id}/threads/{thread_id}', IDS],
  ['GET /o/{tenant_id}/exports', IDS],
  ['GET /o/{tenant_id}/exports/{export_id}', IDS],
  ['GET /o/{tenant_id}/projects', IDS],
  ['GET /o/{tenant_id}/projects/p/{session_id}', IDS],
  ['GET /o/{tenant_id}/projects/p/{session_id}/r/{run_id}', IDS],
  ['POST /o/{tenant_id}/projects/p/{session_id}/r/{run_id}/share', IDS],
  ['POST /o/{tenant_id}/projects/p/{session_id}/r/{run_id}/unshare', IDS],
];

/** Tenancy: every page against sessions of another workspace, and of keys that do not open it. */
export function attackPages(arena: FindArena): void {
  describe('pages matrix', () => {
    const signIn = async (key: string): Promise<string> => {
      const { restUrl } = arena();
      const body = new URLSearchParams({ key });
      const answer = await fetch(`${restUrl}/sign-in`, { method: 'POST', redirect: 'manual', body });
      return answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    };
    const send = async (
      [route, parameters]: (typeof PAGES)[number],
      { tenantId, of, cookie }: { readonly tenantId: string; readonly of: Named; readonly cookie: string },
    ): Promise<Pick<HttpAnswer, 'status' | 'text'>> => {
      const [method = '', pattern = ''] = route.split(' ');
      const values: Readonly<Record<string, string>> = { ...parameters(of), tenant_id: tenantId };
      const path = pattern.replace(/\{([a-z_]+)\}/g, (_, name: string) => values[name] ?? '');
      const body = method === 'POST' ? { body: new URLSearchParams({ text: 'hello' }) } : {};
      const init = { method, redirect: 'manual' as const, headers: { cookie }, ...body };
      const answer = await fetch(arena().restUrl + path, init);
      return { status: answer.status, text: await answer.text() };
    };

    it.each(PAGES)('hides what another workspace has: %s', async (...page) => {
      const { victim, attacker } = arena();
      const cookie = await signIn(attacker.keys.workspace);
      for (const tenantId of [victim.tenantId, attacker.tenantId]) {
        const { status, text } = await send(page, { tenantId, of: victim, cookie });
        // lists have no id of a thing in their paths, and show the attacker's own
        const isList = tenantId === attacker.tenantId && !page[0].includes('_id}', 20);
        expect([tenantId, status]).toEqual([tenantId, isList ? 200 : 404]);
        // the attacker may have given its own projects names and the free id that it learned
        const { session_id, deployment_id, export_id } = victim.ids;
        for (const hidden of isList ? [session_id, deployment_id, export_id] : [victim.project])
          expect(text).not.toContain(hidden);
      }
    });

    it.each(PAGES)('leads to the form without a session: %s', async (...page) => {
      const { victim } = arena();
      for (const cookie of ['', `agentplane_page=AAAAAAAAAAAA.99999999999999.${'A'.repeat(43)}`])
        expect((await send(page, { tenantId: victim.tenantId, of: victim, cookie })).status).toBe(303);
    });

    it.each(PAGES)('stays shut to keys that only write or only call agents: %s', async (...page) => {
      const { victim } = arena();
      for (const scope of ['ingest', 'invoke'] as const) {
        const cookie = await signIn(victim.keys[scope]);
        expect((await send(page, { tenantId: victim.tenantId, of: victim, cookie })).status).toBe(404);
      }
    });

    it.each(PAGES)('answers its owner: %s', async (...page) => {
      const { victim } = arena();
      const cookie = await signIn(victim.keys.workspace);
      const { status } = await send(page, { tenantId: victim.tenantId, of: victim, cookie });
      expect(status).toBe(page[0].startsWith('GET') ? 200 : 303);
    });
  });
}
