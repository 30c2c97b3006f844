import type { ChosenScope } from './key-scope.js';

/** The uuid of a workspace; every row and every query carries it. */
export type TenantId = string;

/** Scope of a key, and the deployment of a deployment's own key. */
export type KeyGrant =
  | { readonly scope: ChosenScope }
  | {
      readonly scope: 'deployment';
      /** Metadata name of the deployment. */
      readonly deployment: string;
      /** Name of its tracing project, which is the deployment's name on the wire. */
      readonly project: string;
    };

/** The verified holder of an API key. */
export type Caller = KeyGrant & {
  readonly tenantId: TenantId;
  readonly keyId: string;
  /** Name given by its maker; absent for the operator. */
  readonly keyName?: string;
  /** The one agent that may be called, by its name on the wire; nothing else is open to this caller. */
  readonly agent?: string;
  /** Remaining time by the database's clock; absent on keys without an end. */
  readonly expiresInMs?: number;
};
