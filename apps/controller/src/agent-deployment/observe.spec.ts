import type { Listener } from '#lib/resources';
import { isSilent } from './observe.js';

describe('isSilent', () => {
  const heard = (status: string, reason: string): Listener =>
    ({
      status: {
        conditions: [{ type: 'HeartbeatFresh', status, reason, message: '', lastTransitionTime: '' }],
      },
    }) as unknown as Listener;

  it.each([
    ['was heard and is not any longer', heard('False', 'NoHeartbeat'), true],
    ['is refused for the place of another', heard('False', 'ComputeIdTaken'), false],
    ['was never heard', heard('Unknown', 'NoHeartbeat'), false],
    ['is heard', heard('True', 'Fresh'), false],
  ])('judges a listener that %s', (_case, listener, expected) => {
    expect(isSilent(listener)).toBe(expected);
  });
});
