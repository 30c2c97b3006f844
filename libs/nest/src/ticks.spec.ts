import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type LoggerService } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { quietFor, waitFor } from '#lib/testing';
import { Tick, Ticks } from './ticks.js';

const EVERY_SECOND = '* * * * * *';

@Injectable()
class Housekeeping {
  begun = 0;
  atOnce = 0;
  most = 0;
  hold: Promise<void> | undefined;

  @Tick('slow', EVERY_SECOND)
  async slow(): Promise<void> {
    this.begun++;
    this.most = Math.max(this.most, ++this.atOnce);
    await this.hold;
    this.atOnce--;
  }
}

@Injectable()
class Unlucky {
  calls = 0;

  @Tick('unlucky', EVERY_SECOND)
  async fail(): Promise<void> {
    this.calls++;
    throw new Error('the table is locked');
  }
}

describe('Ticks', () => {
  const errors: unknown[][] = [];
  const logger: LoggerService = {
    log: () => {},
    warn: () => {},
    error: (...words: unknown[]) => errors.push(words),
  };
  let module: TestingModule;
  let ticks: Ticks;

  beforeEach(async () => {
    errors.length = 0;
    module = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot()],
      providers: [Housekeeping, Unlucky],
    }).compile();
    module.useLogger(logger);
    await module.init();
    ticks = new Ticks(module.get(SchedulerRegistry));
  });
  afterEach(async () => {
    await ticks.stop();
    await module.close();
  });

  it('makes the first call at once and further ones as the expression says', async () => {
    ticks.start();
    const housekeeping = module.get(Housekeeping);
    expect(housekeeping.begun).toBe(1);
    await waitFor(() => housekeeping.begun >= 3);
  });

  it('leaves a call out while the former one runs', async () => {
    const held = Promise.withResolvers<void>();
    const housekeeping = module.get(Housekeeping);
    housekeeping.hold = held.promise;
    ticks.start();
    await waitFor(() => module.get(Unlucky).calls >= 3); // at the same times
    expect(housekeeping).toMatchObject({ begun: 1, most: 1 });
    held.resolve();
    await waitFor(() => housekeeping.begun >= 2);
    expect(housekeeping.most).toBe(1);
  });

  it('logs what a call throws under the name of its tick, and calls again', async () => {
    ticks.start();
    await waitFor(() => module.get(Unlucky).calls >= 2);
    expect(errors[0]?.filter(Boolean)).toEqual([new Error('the table is locked'), 'tick unlucky']);
  });

  it('waits for the call under way when it stops, and begins no other', async () => {
    const held = Promise.withResolvers<void>();
    const housekeeping = module.get(Housekeeping);
    housekeeping.hold = held.promise;
    ticks.start();
    let hasStopped = false;
    const stopping = ticks.stop().then(() => (hasStopped = true));
    const jobs = [...module.get(SchedulerRegistry).getCronJobs().values()];
    expect(jobs.map(({ isActive }) => isActive)).toEqual([false, false]);
    await quietFor(50);
    expect(hasStopped).toBe(false);
    held.resolve();
    await stopping;
    expect(housekeeping).toMatchObject({ begun: 1, atOnce: 0 });
  });

  it('does not keep a process alive', () => {
    const program = `
      import 'reflect-metadata';
      import { Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
      import { Tick, Ticks } from './dist/libs/nest/src/index.js';
      class Hourly { async run() {} }
      const method = Object.getOwnPropertyDescriptor(Hourly.prototype, 'run');
      Tick('hourly', '0 * * * *')(Hourly.prototype, 'run', method);
      Object.defineProperty(Hourly.prototype, 'run', method);
      class Root {}
      Module({ imports: [ScheduleModule.forRoot()], providers: [Hourly] })(Root);
      const application = await NestFactory.createApplicationContext(Root, { logger: false });
      new Ticks(application.get(SchedulerRegistry)).start();
    `;
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  });
});
