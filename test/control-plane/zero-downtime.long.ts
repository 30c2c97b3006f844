import { describe } from '@jest/globals';
import { itHasNoDowntime } from './zero-downtime.js';

describe('rollouts under load', () => {
  itHasNoDowntime({ requests: 300, callers: 4, streams: 10, stepMs: 300, changes: 2 }, 600_000);
});
