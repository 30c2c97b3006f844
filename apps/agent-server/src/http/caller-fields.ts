import type { IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '#lib/json';
import type { ApiCaller } from './judge-key.js';

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
export function callerFields(headers: IncomingHttpHeaders, caller: ApiCaller | undefined): JsonObject {
  const fields: Record<string, unknown> = {};
  for (const name in headers)
    if ((name.startsWith('x-') && !PRIVATE.has(name)) || name === 'user-agent') fields[name] = headers[name];
  if (caller) {
    const user = {
      identity: caller.keyId,
      tenant_id: caller.tenantId,
      is_authenticated: true,
      permissions: [],
    };
    fields['langgraph_auth_user'] = user;
    fields['graph_auth_user'] = user;
    fields['langgraph_auth_user_id'] = user.identity;
    fields['langgraph_auth_permissions'] = user.permissions;
  }
  return fields;
}
