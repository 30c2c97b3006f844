import type { JsonObject } from '#lib/json';

/** Caller: the owner of an API key. */
export interface ApiCaller {
  readonly tenantId: string;
  readonly keyId: string;
  /** Purpose for which the key was made. */
  readonly scope: 'workspace' | 'invoke' | 'deployment';
}

/** Owner of the keys that open a server. */
export interface ServerIdentity {
  readonly tenantId: string;
  /** Name of the deployment on the wire; without one no deployment's own key opens the server. */
  readonly deployment: string | undefined;
}

/** Decision whether a key may call this server. */
export type KeyVerdict =
  | { readonly kind: 'admitted'; readonly caller: ApiCaller }
  | {
      readonly kind: 'refused';
      readonly code: 'unauthenticated' | 'forbidden';
      readonly message: string;
    };

const INVALID: KeyVerdict = {
  kind: 'refused',
  code: 'unauthenticated',
  message: 'API key not valid for this deployment; use a key of its workspace',
};

function forbidden(found: string): KeyVerdict {
  return {
    kind: 'refused',
    code: 'forbidden',
    message: `API key refused by this deployment: ${found}; use a key of the scope invoke or workspace`,
  };
}

/**
 * Decides whether a key may call this server.
 * @param answer of `/auth/verify`; undefined when the platform refused the key
 */
export function judgeKey(answer: JsonObject | undefined, identity: ServerIdentity): KeyVerdict {
  const { tenant_id: tenantId, key_id: keyId, scope, project } = answer ?? {};
  if (tenantId !== identity.tenantId) return INVALID;
  const admitted = (by: ApiCaller['scope']): KeyVerdict => ({
    kind: 'admitted',
    caller: { tenantId: identity.tenantId, keyId: typeof keyId === 'string' ? keyId : '', scope: by },
  });
  switch (scope) {
    case 'workspace':
    case 'invoke':
      return admitted(scope);
    case 'deployment':
      // the tracing project of a deployment bears the name by which the server knows itself
      return typeof project === 'string' && project === identity.deployment
        ? admitted(scope)
        : forbidden('it is the own key of another deployment');
    case 'ingest':
    case 'read':
      return forbidden(`its scope is ${scope}`);
    default:
      // a scope of a newer platform opens nothing here until this server knows it
      return forbidden('its scope is unknown');
  }
}
