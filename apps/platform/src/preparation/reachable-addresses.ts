import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';

/**
 * Addresses of this machine. Link-local ones are left out: they name an interface too, which no certificate
 * or URL can.
 */
export function reachableAddresses(): readonly NetworkInterfaceInfo[] {
  return Object.values(networkInterfaces())
    .flatMap((ofInterface) => ofInterface ?? [])
    .filter(({ address }) => !address.startsWith('fe80:'));
}
