import { randomUUID } from 'node:crypto';
import type { Named, RouteRequest } from './rest-requests.js';

const path = ({ ids }: Named) => ({ owner: '-', repo: ids.prompt_name });
const tag = ({ ids }: Named) => ({ tag_name: 'attack', commit_id: ids.prompt_commit_id });

const REQUESTS: Readonly<Record<string, RouteRequest>> = {
  'GET /settings': {},
  'GET /repos': { query: 'is_archived=allow' },
  'POST /repos': { bodies: () => [{ repo_handle: `attack-${randomUUID()}` }] },
  'GET /repos/{owner}/{repo}': { path },
  'PATCH /repos/{owner}/{repo}': { path, bodies: () => [{ description: 'attack' }] },
  'DELETE /repos/{owner}/{repo}': { path },
  'GET /repos/{owner}/{repo}/tags': { path },
  'POST /repos/{owner}/{repo}/tags': { path, bodies: (of) => [tag(of)] },
  'DELETE /repos/{owner}/{repo}/tags/{tag_name}': { path: (of) => ({ ...path(of), tag_name: 'prod' }) },
  'GET /commits/{owner}/{repo}': { path },
  'POST /commits/{owner}/{repo}': { path, bodies: () => [{ manifest: { attack: randomUUID() } }] },
  'GET /commits/{owner}/{repo}/{commit}': { path: (of) => ({ ...path(of), commit: 'latest' }) },
  'POST /likes/{owner}/{repo}': { path, bodies: () => [{ like: true }] },
};

/** Prompts under both of their prefixes; they are found by names. */
export const PROMPT_REQUESTS: Readonly<Record<string, RouteRequest>> = Object.fromEntries(
  Object.entries(REQUESTS).flatMap(([route, request]) => [
    [route, request],
    [route.replace(' ', ' /api/v1'), request],
  ]),
);
