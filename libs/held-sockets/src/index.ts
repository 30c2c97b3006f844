/** Listening sockets that outlive the programs which serve them: their ports are free at no moment between. */
export {
  adoptSocket,
  claimAddress,
  depositSocket,
  withdrawSocket,
  type ListenAddress,
} from './claim-address.js';
export { HeldSockets, type Inheritance } from './held-sockets.js';
