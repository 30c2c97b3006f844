/** The uuid of a workspace; every row and every query carries it. */
export type TenantId = string;

/** Who an API key was made for: a person or program outside, or a deployment of this platform. */
export type ApiKeyKind = 'person' | 'deployment';

/** The verified holder of an API key. */
export interface Caller {
  readonly tenantId: TenantId;
  readonly keyId: string;
  /** Metadata name of the deployment the key was minted for; absent on keys of people. */
  readonly deployment?: string;
}
