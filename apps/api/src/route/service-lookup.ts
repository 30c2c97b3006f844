import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { AddressGuard, type Resolve } from '#lib/outbound';

/**
 * Finds the addresses of Services. A user who may change a Service can make it a name for something else
 * (`ExternalName`); addresses that give out the credentials of machines are never used.
 */
export function serviceLookup(resolve: Resolve = lookup): LookupFunction {
  return new AddressGuard({
    allowPrivate: true,
    refuse: () => new Error('the Service leads to a link-local, metadata, multicast or reserved address'),
    resolve,
  }).lookup;
}
