/** Connections to addresses that somebody else wrote: which may be dialled, and how they get there through a proxy. */
export { AddressGuard, type Refusal, type Resolve } from './address-guard.js';
export { proxyAgent } from './proxy-agent.js';
