export { findStablePort, isPortFree } from './stable-port.js';
