import { AddressGuard, type Refusal, type Resolve } from '#lib/outbound';
import { EndpointRefusedError, ObjectStoreError } from './object-store-error.js';

const NEVER = 'no object store can have this address';
const PRIVATE =
  'it is a private or loopback address; the operator of the platform can allow these for all destinations by setting ' +
  'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS=true, allowPrivateEndpoints of the chart';

/** Decides which endpoints of destinations may be dialled: tenants write them. */
export class EndpointGuard extends AddressGuard {
  constructor(allowPrivate: boolean, resolve?: Resolve) {
    super({ allowPrivate, refuse: refusalOf, ...(resolve ? { resolve } : {}) });
  }
}

function refusalOf(why: Refusal): ObjectStoreError {
  switch (why) {
    case 'private':
      return new EndpointRefusedError('PrivateEndpoint', PRIVATE);
    case 'never':
      return new EndpointRefusedError('InvalidEndpoint', NEVER);
    case 'unresolved':
      return new ObjectStoreError('ENOTFOUND', 'resolve the name of the endpoint');
    default:
      return why satisfies never;
  }
}
