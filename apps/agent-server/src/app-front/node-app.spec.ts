import { setImmediate } from 'node:timers/promises';
import { createLogger } from '#lib/telemetry';
import { canUseUpDescriptors, withoutDescriptors } from '#lib/testing';
import { systemClock } from '#lib/time';
import { NodeApp, type AppProcessParts } from './node-app.js';

describe('NodeApp', () => {
  (canUseUpDescriptors ? it : it.skip)(
    'refuses to start without descriptors, and ends nothing else',
    async () => {
      const parts = {
        order: { folder: import.meta.dirname },
        ownUrl: new Promise<string>(() => undefined),
        clock: systemClock,
        log: createLogger('test', 'silent'),
      } as unknown as AppProcessParts;
      expect(() => withoutDescriptors(() => new NodeApp(parts))).toThrow('no file descriptors are left');
      await setImmediate(); // an 'error' without a listener would have ended this process
    },
  );
});
