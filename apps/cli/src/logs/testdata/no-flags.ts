import type { LogsFlags } from '../read-logs.js';

export const NO_FLAGS: LogsFlags = {
  namespace: undefined,
  revision: undefined,
  container: undefined,
  tail: undefined,
  since: undefined,
  follow: false,
  previous: false,
  timestamps: false,
  output: undefined,
  data: undefined,
  context: undefined,
};
