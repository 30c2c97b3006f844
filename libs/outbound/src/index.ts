/**
 * Connections to addresses that users wrote: the check if they may be dialled, and their way through a proxy.
 */
export { AddressGuard, type Refusal } from './address-guard.js';
export { guardedRequest } from './guarded-request.js';
export type { Resolve } from './name-resolver.js';
export { proxyAgent } from './proxy-agent.js';
export { hostOf, portOf } from './url-place.js';
