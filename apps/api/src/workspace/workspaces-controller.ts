import { Controller, Get } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { WorkspaceAnswer } from './workspace-answer.js';
import { WorkspaceReader } from './workspace-reader.js';

/** The workspace that a key belongs to. */
@Described(({ ApiTags }) => ApiTags('Workspaces'))
@Controller('api/v1/workspaces')
export class WorkspacesController {
  constructor(private readonly reader: WorkspaceReader) {}

  @Get('current')
  @Operation({
    summary: 'The workspace of the key: its plan, its limits, and how much of them it uses',
    answer: WorkspaceAnswer,
  })
  current(@FromCaller() caller: Caller): Promise<WorkspaceAnswer> {
    return this.reader.read(caller);
  }
}
