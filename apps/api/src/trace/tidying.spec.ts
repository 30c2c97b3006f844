import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { Tidying } from './tidying.js';

describe('Tidying', () => {
  it('runs every ten minutes on the hour, and again after a failure', async () => {
    let calls = 0;
    const tidy = (): Promise<void> =>
      ++calls === 1 ? Promise.reject(new Error('connection refused')) : Promise.resolve();
    const module = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot()],
      providers: [{ provide: Tidying, useFactory: () => new Tidying({ tidy }) }],
    }).compile();
    module.useLogger(false);
    await module.init();
    const job = module.get(SchedulerRegistry).getCronJob('tidying');
    await job.fireOnTick();
    await job.fireOnTick();
    expect(calls).toBe(2);
    const [first, second] = job.nextDates(2).map((date) => date.toMillis());
    expect(Number(first) % 600_000).toBe(0);
    expect(Number(second) - Number(first)).toBe(600_000);
    await module.close();
  });
});
