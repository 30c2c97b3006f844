/** Connections to addresses that somebody else wrote: which may be dialled, and how they get there through a proxy. */
export { AddressGuard, type Refusal } from './address-guard.js';
export { guardedRequest } from './guarded-request.js';
export type { Resolve } from './name-resolver.js';
export { proxyAgent } from './proxy-agent.js';
export { hostOf, portOf } from './url-place.js';
