import { Controller, Get, Inject } from '@nestjs/common';
import { findOpenDatabases, type TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { WarningsAnswer } from './warnings-answer.js';

/** Warnings that the command line and the dashboard show beside the state of the programs. */
@Described(({ ApiTags }) => ApiTags('Info'))
@Controller('v1/warnings')
export class WarningsController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'openDatabases'>) {}

  @Get()
  @Operation({
    summary: 'What an administrator should mend although the platform works',
    answer: WarningsAnswer,
  })
  async list(): Promise<WarningsAnswer> {
    // read each time: a warning ends with the statement that mends it
    const found = await findOpenDatabases(this.store);
    return { warnings: found ? [{ message: found.message, mend: found.mend }] : [] };
  }
}
