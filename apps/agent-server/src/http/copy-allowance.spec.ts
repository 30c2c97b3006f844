import { FakeClock } from '#lib/testing';
import { CopyAllowance } from './thread-upkeep.js';

const MEGABYTE = 1024 * 1024;
const limits = { copyBytes: 10 * MEGABYTE, bytesAnHour: 30 * MEGABYTE };

describe('the allowance of copies of threads', () => {
  it('refuses a thread that is too large, with its size and what to do', () => {
    const allowance = new CopyAllowance(new FakeClock(), limits);
    expect(() => allowance.take('ann', 't', 10 * MEGABYTE + 1)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        message: expect.stringMatching(
          /^Copying thread t: its states take 11 MB, and 10 MB is the most; .*keep_latest/,
        ),
      }),
    );
    allowance.take('ann', 't', 10 * MEGABYTE);
  });

  it('refuses a caller beyond the bytes of an hour, and says when to retry', async () => {
    const clock = new FakeClock();
    const allowance = new CopyAllowance(clock, limits);
    for (let index = 0; index < 3; index++) allowance.take('ann', 't', 10 * MEGABYTE);
    expect(() => allowance.take('ann', 't', MEGABYTE)).toThrow(
      expect.objectContaining({ code: 'too_many', retryAfterSeconds: 120 }),
    );
    allowance.take('bob', 't', 10 * MEGABYTE);
    allowance.take(undefined, 't', 10 * MEGABYTE);
    await clock.advance(120_000);
    allowance.take('ann', 't', MEGABYTE);
    expect(() => allowance.take('ann', 't', MEGABYTE)).toThrow('retry later');
    await clock.advance(3_600_000);
    for (let index = 0; index < 3; index++) allowance.take('ann', 't', 10 * MEGABYTE);
  });
});
