import { Body, Headers, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { PathId } from '../wire/query-flag.js';
import { BulkExports } from './bulk-exports.js';
import {
  CreateDestinationRequest,
  DeleteDestinationQuery,
  PatchDestinationRequest,
} from './destination-request.js';
import { Destinations } from './destinations.js';
import {
  DestinationAnswer,
  ExportAnswer,
  ExportEstimateAnswer,
  ExportRunAnswer,
  LateRunsAnswer,
} from './export-answer.js';
import {
  CreateExportRequest,
  ExportsQuery,
  ListedExportsQuery,
  PatchExportRequest,
  ScheduledRunsQuery,
} from './export-request.js';
import { RepeatKey } from './repeat-key.js';
import { FromIgnored, FromWords } from '../wire/speak-vocabulary.js';
import type { SentWords } from '../wire/vocabulary.js';
import { Described, Resource } from '../wire/operation.js';
import { Post, Get, Patch, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'A repetition with the same key and body is answered with the export that the first request made, unless it was deleted before it ended',
};

@Resource('Bulk exports', 'api/v1/bulk-exports')
export class BulkExportsController {
  constructor(
    private readonly exports: BulkExports,
    private readonly destinations: Destinations,
  ) {}

  @Post('destinations', WORKSPACE, {
    summary: 'Creates a destination, after a test object was written to it',
    answer: DestinationAnswer,
    refuses: {
      400: 'The test failed: Access denied, Bucket is not valid, Key ID you provided does not exist, Invalid endpoint',
      403: 'The plan does not allow exports, or the key is that of a deployment',
    },
  })
  createDestination(
    @FromCaller() caller: Caller,
    @Body() body: CreateDestinationRequest,
    @FromWords() sent: SentWords,
  ): Promise<DestinationAnswer> {
    return this.destinations.create(caller, body, sent);
  }

  @Get('destinations', READ, { summary: 'Destinations of the workspace', answer: [DestinationAnswer] })
  listDestinations(
    @FromCaller() caller: Caller,
    @Query() query: ExportsQuery,
  ): Promise<readonly DestinationAnswer[]> {
    return this.destinations.list(caller, query);
  }

  @Get('destinations/:destination_id', READ, { summary: 'A destination', answer: DestinationAnswer })
  getDestination(
    @FromCaller() caller: Caller,
    @PathId('destination_id') id: string,
  ): Promise<DestinationAnswer> {
    return this.destinations.get(caller, id);
  }

  @Patch('destinations/:destination_id', WORKSPACE, {
    summary: 'Renames a destination, or gives it new credentials',
    answer: DestinationAnswer,
    refuses: {
      400: 'The test with the new credentials failed',
      403: 'The plan does not allow exports, or the key is that of a deployment',
    },
  })
  changeDestination(
    @FromCaller() caller: Caller,
    @PathId('destination_id') id: string,
    @Body() body: PatchDestinationRequest,
  ): Promise<DestinationAnswer> {
    return this.destinations.change(caller, id, body);
  }

  @Post('destinations/:destination_id/test', WORKSPACE, {
    summary: 'Tests a destination again; the answer has the result',
    answer: DestinationAnswer,
    refuses: { 403: 'The plan does not allow exports, or the key is that of a deployment' },
  })
  testDestination(
    @FromCaller() caller: Caller,
    @PathId('destination_id') id: string,
  ): Promise<DestinationAnswer> {
    return this.destinations.test(caller, id);
  }

  @Delete('destinations/:destination_id', WORKSPACE, {
    summary:
      'Deletes a destination with its credentials, unless exports or schedules use it; with force these fail',
    status: 204,
    refuses: { 409: 'Exports or schedules that have not ended use it, and force was not given' },
  })
  deleteDestination(
    @FromCaller() caller: Caller,
    @PathId('destination_id') id: string,
    @Query() query: DeleteDestinationQuery,
  ): Promise<void> {
    return this.destinations.delete(caller, id, query.force ?? false);
  }

  @Post('', WORKSPACE, {
    summary: 'Creates an export',
    answer: ExportAnswer,
    refuses: {
      403: 'The plan does not allow exports, or the key is that of a deployment',
      409: 'The Idempotency-Key was used with another body',
      429: 'As many exports of the workspace have not ended as may be; Retry-After says when to try again',
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IDEMPOTENCY_KEY))
  async create(
    @FromCaller() caller: Caller,
    @Body() body: CreateExportRequest,
    @FromWords() sent: SentWords,
    @Headers('idempotency-key') key?: string,
  ): Promise<ExportAnswer> {
    return this.exports.create(caller, body, sent, RepeatKey.parse(key));
  }

  @Post('estimate', READ, {
    summary: 'Rows, bytes and time that an export would have; nothing is made',
    answer: ExportEstimateAnswer,
    refuses: { 403: 'The plan does not allow exports, or the key is that of a deployment' },
  })
  estimate(@FromCaller() caller: Caller, @Body() body: CreateExportRequest): Promise<ExportEstimateAnswer> {
    return this.exports.estimate(caller, body);
  }

  @Get('', READ, { summary: 'Exports of the workspace', answer: [ExportAnswer] })
  list(@FromCaller() caller: Caller, @Query() query: ListedExportsQuery): Promise<readonly ExportAnswer[]> {
    return this.exports.list(caller, query);
  }

  @Get('runs', READ, { summary: 'Runs of all exports that a schedule has made', answer: [ExportRunAnswer] })
  listScheduledRuns(
    @FromCaller() caller: Caller,
    @Query() query: ScheduledRunsQuery,
  ): Promise<readonly ExportRunAnswer[]> {
    return this.exports.listScheduledRuns(caller, query);
  }

  @Get(':export_id', READ, { summary: 'An export', answer: ExportAnswer })
  get(@FromCaller() caller: Caller, @PathId('export_id') id: string): Promise<ExportAnswer> {
    return this.exports.get(caller, id);
  }

  @Patch(':export_id', WORKSPACE, {
    summary: 'Cancels an export for good, pauses it, has a schedule run now or gives it another destination',
    answer: ExportAnswer,
    refuses: {
      400: 'It has come to an end already, or is no schedule that can run now',
      409: 'Another request changed the export at the same time, or the destination is being deleted',
    },
  })
  change(
    @FromCaller() caller: Caller,
    @PathId('export_id') id: string,
    @Body() body: PatchExportRequest,
    @FromIgnored() ignored: string,
  ): Promise<ExportAnswer> {
    return this.exports.change(caller, id, body, ignored === '');
  }

  @Post(':export_id/continue', WORKSPACE, {
    summary:
      'Continues an export that is FAILED or TIMEDOUT: creates an export that adopts its finished files and exports the rest',
    answer: ExportAnswer,
    refuses: {
      400: 'The export cannot be continued: its state, or its destination, which was deleted or leads elsewhere now',
      403: 'The plan does not allow exports, or the key is that of a deployment',
      409: 'Another export continues it already',
      429: 'As many exports of the workspace have not ended as may be; Retry-After says when to try again',
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IDEMPOTENCY_KEY))
  async continue(
    @FromCaller() caller: Caller,
    @PathId('export_id') id: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<ExportAnswer> {
    return this.exports.continue(caller, id, RepeatKey.parse(key));
  }

  @Get(':export_id/late', READ, {
    summary: 'Counts the runs that came or changed after a completed export had begun to read their day',
    answer: LateRunsAnswer,
    refuses: { 400: 'The export is not COMPLETED' },
  })
  reportLate(@FromCaller() caller: Caller, @PathId('export_id') id: string): Promise<LateRunsAnswer> {
    return this.exports.reportLate(caller, id);
  }

  @Post(':export_id/late', WORKSPACE, {
    summary: 'Creates an export of just these runs, with the settings of the export, without feedback',
    answer: ExportAnswer,
    refuses: {
      400: 'The export is not COMPLETED, or nothing says what it has read',
      403: 'The plan does not allow exports, or the key is that of a deployment',
      409: 'The Idempotency-Key was used with another body',
      429: 'As many exports of the workspace have not ended as may be; Retry-After says when to try again',
    },
  })
  @Described(({ ApiHeader }) => ApiHeader(IDEMPOTENCY_KEY))
  async exportLate(
    @FromCaller() caller: Caller,
    @PathId('export_id') id: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<ExportAnswer> {
    return this.exports.exportLate(caller, id, RepeatKey.parse(key));
  }

  @Get(':export_id/runs', READ, {
    summary: 'Runs of an export, by the time of their window',
    answer: [ExportRunAnswer],
  })
  listRuns(
    @FromCaller() caller: Caller,
    @PathId('export_id') id: string,
    @Query() query: ExportsQuery,
  ): Promise<readonly ExportRunAnswer[]> {
    return this.exports.listRuns(caller, id, query);
  }

  @Get(':export_id/runs/:run_id', READ, { summary: 'A run of an export', answer: ExportRunAnswer })
  getRun(
    @FromCaller() caller: Caller,
    @PathId('export_id') id: string,
    @PathId('run_id') runId: string,
  ): Promise<ExportRunAnswer> {
    return this.exports.getRun(caller, id, runId);
  }
}
