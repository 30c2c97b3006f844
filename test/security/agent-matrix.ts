import { KEY_SCOPES } from '#lib/auth';
import { waitFor } from '#lib/testing';
import type { FindArena } from './arena.js';
import {
  agentRequests,
  ATTACKED_ROUTES,
  LASTING,
  LISTED_ROUTES,
  REGISTERED_ROUTES,
  SOCKET,
} from './agent-routes.js';
import type { Named } from './rest-requests.js';
import type { Tenant } from './tenant.js';
import type { HttpAnswer, HttpRequest } from './transcript.js';
import { unknownLike, withoutNames } from './unknown-ids.js';

/** One address may send so many wrong keys a minute; then they are not even looked at. */
const REFUSED = [401, 429];

/** Numbers that name no object, and change from one request to the next. */
const NUMBERS = ['GET /metrics'];

/** After so many wrong keys from here a key that the server does not know yet may have to wait until it is looked at. */
function untilLookedAt(send: () => Promise<HttpAnswer[]>): Promise<HttpAnswer> {
  return waitFor(async () => {
    const [seen] = await send();
    return seen?.status !== 429 && seen;
  });
}

/** They need an upgrade, or components, which the sample agent has none of. */
const UNANSWERED = [SOCKET, 'POST /ui/:assistant_id'];

/** Tenancy: every route of the agent server against every wrong caller. */
export function attackAgents(arena: FindArena): void {
  const send = async (url: string, name: string, of: Named, caller: HttpRequest): Promise<HttpAnswer[]> => {
    const answers: HttpAnswer[] = [];
    for (const { method, path, body } of agentRequests(name, of))
      answers.push(
        await arena().transcript.call(method, url + path, {
          ...caller,
          body,
          isLasting: LASTING.includes(name),
        }),
      );
    return answers;
  };

  /** What the victim sees of its own agent. */
  const viewOf = async ({ agentUrl, keys, ids }: Tenant): Promise<string> => {
    const seen = [
      ['POST', '/threads/search', { limit: 100 }],
      ['POST', '/assistants/search', { limit: 100 }],
      ['POST', '/runs/crons/search', { limit: 100 }],
      ['POST', '/store/items/search', { limit: 100 }],
      ['GET', `/threads/${ids.thread_id}/history`, undefined],
      ['GET', `/threads/${ids.thread_id}/runs`, undefined],
    ] as const;
    const answers = seen.map(([method, path, body]) =>
      arena().transcript.call(method, agentUrl + path, { key: keys.workspace, body }),
    );
    return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`).join('\n');
  };

  describe('agent server matrix', () => {
    it('has an entry for every route of the server', () => {
      expect(LISTED_ROUTES).toEqual(REGISTERED_ROUTES);
    });

    it.each(ATTACKED_ROUTES)(
      'refuses every key but those of its workspace that may call: %s',
      async (name) => {
        const { victim, attacker } = arena();
        const before = await viewOf(victim);
        const callers: Readonly<Record<string, HttpRequest>> = {
          'no key': {},
          garbage: { key: 'garbage' },
          'a foreign key as bearer': { headers: { authorization: `Bearer ${attacker.keys.workspace}` } },
          'an expired key': { key: victim.keys.expired },
          'a revoked key': { key: victim.keys.revoked },
          'a key of another tenant with the tenant': {
            key: attacker.keys.workspace,
            tenant: victim.tenantId,
          },
          ...Object.fromEntries(
            KEY_SCOPES.map((scope) => [`foreign ${scope}`, { key: attacker.keys[scope] }]),
          ),
        };
        const wrong: string[] = [];
        const nothing = unknownLike(victim);
        for (const [caller, request] of Object.entries(callers)) {
          const [seen] = await send(victim.agentUrl, name, victim, request);
          if (!seen || !REFUSED.includes(seen.status)) wrong.push(`${caller}: ${seen?.status} ${seen?.text}`);
          if (seen?.status !== 401 || caller !== 'foreign workspace') continue;
          const [expected] = await send(victim.agentUrl, name, nothing, request);
          if (expected?.status === 401 && withoutNames(seen, victim) !== withoutNames(expected, nothing))
            wrong.push(`${caller}: ${seen.text} instead of ${expected.text}`);
        }
        for (const scope of ['read', 'ingest'] as const) {
          const seen = await untilLookedAt(() =>
            send(victim.agentUrl, name, victim, { key: victim.keys[scope] }),
          );
          if (seen.status !== 403) wrong.push(`${scope}: ${seen.status} ${seen.text}`);
        }
        expect(wrong).toEqual([]);
        expect(await viewOf(victim)).toBe(before);
      },
    );

    const naming = ATTACKED_ROUTES.filter((name) => !NUMBERS.includes(name));
    it.each(naming)('knows nothing of the ids of another agent: %s', async (name) => {
      const { victim, attacker } = arena();
      const before = await viewOf(victim);
      const nothing = unknownLike(victim);
      const key = attacker.keys.workspace;
      // the attacker's own items go at the first time
      if (name === 'POST /threads/erase') await send(attacker.agentUrl, name, nothing, { key });
      const foreign = await send(attacker.agentUrl, name, victim, { key });
      const missing = await send(attacker.agentUrl, name, nothing, { key });
      expect(foreign.map((answer) => withoutNames(answer, victim))).toEqual(
        missing.map((answer) => withoutNames(answer, nothing)),
      );
      expect(await viewOf(victim)).toBe(before);
    });
  });
}

/** The rows above would hold on a server that refuses everything: each route opens to whom it belongs. Runs last. */
export function openAgents(arena: FindArena): void {
  describe('routes of an agent with the ids of their owner', () => {
    it.each(ATTACKED_ROUTES.filter((name) => !UNANSWERED.includes(name)))(
      'answers its owner: %s',
      async (name) => {
        const { victim } = arena();
        for (const { method, path, body } of agentRequests(name, victim)) {
          const { status } = await arena().transcript.call(method, victim.agentUrl + path, {
            key: victim.keys.invoke,
            body,
            isLasting: LASTING.includes(name),
          });
          // forms lead to the page with what they changed
          if (status !== 303) expect([path, status]).toEqual([path, Math.min(status, 299)]);
        }
      },
    );
  });
}
