export {
  parseGraphConfiguration,
  type GraphConfiguration,
  type GraphEntry,
} from './parse-graph-configuration.js';
