import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createLogger } from '#lib/telemetry';
import { temporaryFolder } from '#lib/testing';
import { NestLog } from './nest-log.js';

describe('NestLog', () => {
  const path = join(temporaryFolder(), 'log');
  const descriptor = openSync(path, 'a');
  afterAll(() => closeSync(descriptor));

  it('writes what parts of Nest log as lines of the program, with part and error as fields', () => {
    Logger.overrideLogger(new NestLog(createLogger('controller', 'info', descriptor)));
    const logger = new Logger('Scheduler');
    logger.error(new Error('the table is locked'));
    logger.warn('slow');
    logger.log('mapped a route');
    const lines = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toMatchObject([
      { level: 'error', program: 'controller', part: 'Scheduler', err: { message: 'the table is locked' } },
      { level: 'warn', program: 'controller', part: 'Scheduler', detail: 'slow' },
    ]);
  });
});
