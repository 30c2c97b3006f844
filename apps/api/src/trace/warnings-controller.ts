import { findOpenDatabases, type TraceStore } from '#lib/trace-store';
import { Inject } from '@nestjs/common';
import { TRACE_STORE } from '../core/tokens.js';
import { Resource } from '../wire/operation.js';
import { Get } from '../wire/route.js';
import { READ } from '../wire/route-access.js';
import { Answered, listOf, TEXT } from '../wire/shape.js';

class WarningAnswer {
  @Answered(TEXT, 'What is open or not kept, for people') readonly message: string;
  @Answered(TEXT, 'What an administrator runs to mend it') readonly mend: string;
}

/** Problems that an administrator should repair although the platform works. */
class WarningsAnswer {
  @Answered(listOf(() => WarningAnswer), 'Empty while nothing is to be mended')
  readonly warnings: readonly WarningAnswer[];
}

/** Warnings that the command line and the dashboard show beside the state of the programs. */
@Resource('Info', 'v1/warnings')
export class WarningsController {
  constructor(@Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'openDatabases'>) {}

  @Get('', READ, {
    summary: 'What an administrator should mend although the platform works',
    answer: WarningsAnswer,
  })
  async list(): Promise<WarningsAnswer> {
    // read each time: a warning ends with the statement that mends it
    const found = await findOpenDatabases(this.store);
    return { warnings: found ? [{ message: found.message, mend: found.mend }] : [] };
  }
}
