/** Parsers of IP addresses and networks: all that is taken from `node:net` here. */
export { BlockList, isIP, isIPv6 } from 'node:net';
