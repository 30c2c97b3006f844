import { randomUUID } from 'node:crypto';
import type { Named } from './rest-requests.js';
import type { TenantIds } from './tenant.js';
import type { HttpAnswer } from './transcript.js';

/** Ids of the same form as a tenant's that belong to nothing. */
export function unknownLike({ ids }: Named): Named {
  const made = Object.entries(ids).map(([name, id]: [string, string]) => [
    name,
    id.length === 36 ? randomUUID() : randomUUID().replaceAll('-', '').slice(0, id.length),
  ]);
  return { ids: Object.fromEntries(made) as TenantIds, project: 'unknown agent' };
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)/g;

/** Headers whose values, or whose presence, say nothing of what was asked for. */
const PASSING = new Set(['date', 'x-request-id', 'content-length', 'keep-alive', 'connection']);

/** An answer without what differs between any two requests: ids, names and times. */
export function withoutNames({ status, headers, text }: HttpAnswer, { ids, project }: Named): string {
  let plain = text.replaceAll(project, '<project>');
  for (const [name, id] of Object.entries(ids) as [string, string][])
    if (id.length !== 36) plain = plain.replaceAll(id, `<${name}>`);
  plain = plain.replace(/apk_\w+/g, '<key>').replace(/"id":"\w{12}"/g, '"id":"<key id>"');
  plain = plain.replace(UUID, '<uuid>').replace(TIME, '<time>');
  const head = Object.keys(headers).filter((name) => !PASSING.has(name) && !name.startsWith('ratelimit'));
  return `${status} ${head.sort().join()} ${plain}`;
}
