export { findStablePort, isPortFree } from './stable-port.js';

/** Listening sockets that outlive the programs which serve them: their ports are free at no moment between. */
export {
  adoptSocket,
  claimAddress,
  depositSocket,
  withdrawSocket,
  type ListenAddress,
} from './held-sockets.js';
export { HeldSockets, type Inheritance } from './held-sockets.js';
