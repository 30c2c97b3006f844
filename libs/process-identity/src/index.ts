export { endProcess, sendSignal, type EndOptions } from './end-process.js';
export {
  findProcess,
  findProgram,
  findStartTime,
  isRunning,
  ownIdentity,
  type ProcessIdentity,
} from './process-identity.js';
export { statFields } from './stat-fields.js';
export { withUmask } from './with-umask.js';
