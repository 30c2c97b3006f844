// What `@jest/globals` gives to a spec file: Jest's own parts, put together without its module sandbox.
import * as circus from 'jest-circus';
import { ModernFakeTimers } from '@jest/fake-timers';
import { jestExpect } from '@jest/expect';
import { ModuleMocker } from 'jest-mock';

export const { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } = circus.default;
export const expect = jestExpect;

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({
  config: { fakeTimers: {}, rootDir: process.cwd() },
  global: globalThis,
});
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  useFakeTimers: (options) => timers.useFakeTimers(options),
  useRealTimers: () => timers.useRealTimers(),
  advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
  getTimerCount: () => timers.getTimerCount(),
};
