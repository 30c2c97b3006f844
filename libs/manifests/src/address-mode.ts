/**
 * Address form of Services: through the cluster's DNS, or through a port on loopback that the node notes on
 * them.
 */
export type AddressMode = 'loopback' | 'cluster-dns';
