import { isJsonObject, type JsonObject } from '#lib/json';
import type { HookHeaders } from './hook-signature.js';

/** A push that a git host announces. Its commit is ignored: the platform looks itself. */
export interface AnnouncedPush {
  /** `refs/heads/main`. */
  readonly ref: string;
  /** Addresses of the repository, as `repositoryName` compares them. */
  readonly repositories: ReadonlySet<string>;
}

const EVENT_HEADERS = [
  'x-github-event',
  'x-gitea-event',
  'x-forgejo-event',
  'x-gogs-event',
  'x-gitlab-event',
];
const PUSHES = new Set(['push', 'push hook', 'system hook']);
const ADDRESSES = ['clone_url', 'html_url', 'git_http_url', 'http_url', 'web_url', 'homepage'];

/**
 * The push to a branch that a hook announces; undefined for every other event, tags among them, and for a branch that was
 * deleted.
 * @param body JSON
 */
export function announcedPush(headers: HookHeaders, body: JsonObject): AnnouncedPush | undefined {
  const events = EVENT_HEADERS.map((name) => headers[name]).filter((event) => typeof event === 'string');
  if (!events.some((event) => PUSHES.has(event.toLowerCase()))) return undefined;
  const { ref, after, repository, project } = body;
  if (typeof ref !== 'string' || !ref.startsWith('refs/heads/')) return undefined;
  if (typeof after === 'string' && /^0+$/.test(after)) return undefined;
  const repositories = [repository, project].filter(isJsonObject).flatMap((one) =>
    ADDRESSES.map((name) => one[name])
      .filter((address) => typeof address === 'string')
      .flatMap((address) => repositoryName(address) ?? []),
  );
  return { ref, repositories: new Set(repositories) };
}

/**
 * A repository regardless of the scheme, the login and the ending of its address; undefined for a text that
 * is not an address.
 */
export function repositoryName(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { host, pathname } = new URL(address);
  // without the look back, each slash of a path of a megabyte of them would begin a search
  return `${host.toLowerCase()}${pathname.replace(/(?<!\/)\/+$/, '').replace(/\.git$/, '')}`;
}

/** True when a push to `ref` may move the branch that a deployment names; the default branch may be any. */
export function mayMove(repoRef: string | undefined, ref: string): boolean {
  return (
    repoRef === undefined ||
    repoRef === 'HEAD' ||
    ref === `refs/heads/${repoRef.replace(/^refs\/heads\//, '')}`
  );
}
