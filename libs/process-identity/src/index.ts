export {
  endProcess,
  sendSignal,
  type EndOptions,
  findProcess,
  findProgram,
  findStartTime,
  isRunning,
  ownIdentity,
  type ProcessIdentity,
  statFields,
  withUmask,
} from './process-identity.js';
