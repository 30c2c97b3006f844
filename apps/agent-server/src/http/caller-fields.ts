import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '#lib/json';
import type { AuthUser } from '../authorization/auth-user.js';

/** Headers that carry credentials: they never reach graphs, rows or traces. */
const PRIVATE = new Set([
  'x-api-key',
  'x-tenant-id',
  'x-service-key',
  'x-auth-scheme',
  'x-forwarded-authorization',
]);

/**
 * What a request adds to `configurable`: its `x-` headers and user agent, and the caller, by LangGraph's names and by
 * the product's (`graph_auth_user`).
 */
export function callerFields(headers: IncomingHttpHeaders, caller: AuthUser | undefined): JsonObject {
  const fields: Record<string, unknown> = {};
  for (const name in headers)
    if ((name.startsWith('x-') && !PRIVATE.has(name)) || name === 'user-agent') fields[name] = headers[name];
  if (caller) {
    fields['langgraph_auth_user'] = caller;
    fields['graph_auth_user'] = caller;
    fields['langgraph_auth_user_id'] = caller.identity;
    fields['langgraph_auth_permissions'] = caller.permissions;
  }
  return fields;
}
