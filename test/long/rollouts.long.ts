import { describe } from '@jest/globals';
import { itHasNoDowntime } from '../control-plane/zero-downtime.js';

describe('20 rollouts under load', () => {
  // 17 that take over, one that fails, one that is cancelled by the next, one that goes back
  itHasNoDowntime({ requests: 10_000, callers: 8, streams: 200, stepMs: 3_000, changes: 17 }, 3_000_000);
});
