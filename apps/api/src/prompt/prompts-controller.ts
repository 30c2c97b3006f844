import { Body, Param, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Resource } from '../wire/operation.js';
import { Get, Post, Patch, Delete } from '../wire/route.js';
import { READ_RUNS, WORKSPACE } from '../wire/route-access.js';
import {
  CommitQuery,
  CommitsAnswer,
  CommitsQuery,
  CommitTagAnswer,
  CommitTagRequest,
  CreateCommitRequest,
  CreatePromptRequest,
  DeletedAnswer,
  LikeRequest,
  LikesAnswer,
  likesOf,
  OneCommitAnswer,
  OnePromptAnswer,
  PromptsAnswer,
  PromptsQuery,
  PulledCommitAnswer,
  renderCommit,
  renderPrompt,
  renderPulled,
  renderTag,
  SettingsAnswer,
  UpdatePromptRequest,
} from './prompt.js';
import { type PromptPath, Prompts } from './prompts.js';

const NONE = 'The workspace has no such prompt';

/**
 * Prompts and the tags of their commits, on the wire of the `langsmith` clients. Agents pull them with the key
 * of their deployment.
 */
@Resource('Prompts', ['repos', 'api/v1/repos'])
export class PromptsController {
  constructor(private readonly prompts: Prompts) {}

  @Get('', READ_RUNS, {
    summary: 'Prompts of the workspace',
    answer: PromptsAnswer,
    refuses: { 400: 'Agents or skills are asked for' },
  })
  async list(@FromCaller() { tenantId }: Caller, @Query() query: PromptsQuery): Promise<PromptsAnswer> {
    const { prompts, total } = await this.prompts.list(tenantId, query);
    return { repos: prompts.map(renderPrompt), total };
  }

  @Post('', WORKSPACE, {
    summary: 'Creates a prompt without commits',
    answer: OnePromptAnswer,
    refuses: { 400: 'It is an agent or a skill', 409: 'There is another one of that name' },
  })
  async create(
    @FromCaller() { tenantId }: Caller,
    @Body() body: CreatePromptRequest,
  ): Promise<OnePromptAnswer> {
    return { repo: renderPrompt(await this.prompts.create(tenantId, body)) };
  }

  @Get(':owner/:repo', READ_RUNS, {
    summary: 'A prompt; the owner is `-`',
    answer: OnePromptAnswer,
    refuses: { 404: NONE },
  })
  async get(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<OnePromptAnswer> {
    return { repo: renderPrompt(await this.prompts.get(tenantId, { owner, repo })) };
  }

  @Patch(':owner/:repo', WORKSPACE, {
    summary: 'Changes details of a prompt',
    answer: OnePromptAnswer,
    refuses: { 404: NONE },
  })
  async update(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Body() body: UpdatePromptRequest,
  ): Promise<OnePromptAnswer> {
    return { repo: renderPrompt(await this.prompts.update(tenantId, { owner, repo }, body)) };
  }

  @Delete(':owner/:repo', WORKSPACE, {
    summary: 'Deletes a prompt with its commits',
    answer: DeletedAnswer,
    refuses: { 404: NONE },
  })
  async delete(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<DeletedAnswer> {
    await this.prompts.delete(tenantId, { owner, repo });
    // the JavaScript client reads a body
    return { deleted: repo };
  }

  @Get(':owner/:repo/tags', READ_RUNS, {
    summary: 'Tags of its commits',
    answer: [CommitTagAnswer],
    refuses: { 404: NONE },
  })
  async tags(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<CommitTagAnswer[]> {
    return (await this.prompts.tags(tenantId, { owner, repo })).map(renderTag);
  }

  @Post(':owner/:repo/tags', WORKSPACE, {
    summary: 'Gives a commit a tag, or moves the tag there',
    answer: CommitTagAnswer,
    refuses: { 404: 'The workspace has no such prompt, or the prompt no such commit' },
  })
  async tag(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Body() body: CommitTagRequest,
  ): Promise<CommitTagAnswer> {
    return renderTag(await this.prompts.tag(tenantId, { owner, repo }, body));
  }

  @Delete(':owner/:repo/tags/:tag_name', WORKSPACE, {
    summary: 'Removes a tag from its commit',
    status: 204,
    refuses: { 404: 'There is none' },
  })
  async untag(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Param('tag_name') tag: string,
  ): Promise<void> {
    await this.prompts.untag(tenantId, { owner, repo }, tag);
  }
}

/** Versions of prompts. */
@Resource('Prompts', ['commits', 'api/v1/commits'])
export class PromptCommitsController {
  constructor(private readonly prompts: Prompts) {}

  @Get(':owner/:repo', READ_RUNS, {
    summary: 'Commits of a prompt without their manifests, newest first',
    answer: CommitsAnswer,
    refuses: { 404: NONE },
  })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Query() query: CommitsQuery,
  ): Promise<CommitsAnswer> {
    const { commits, total } = await this.prompts.commits(tenantId, { owner, repo }, query);
    return { commits: commits.map(renderCommit), total };
  }

  @Post(':owner/:repo', WORKSPACE, {
    summary: 'Adds a commit to a prompt',
    answer: OneCommitAnswer,
    refuses: { 404: NONE, 409: 'The prompt has not changed since its parent commit' },
  })
  async create(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Body() body: CreateCommitRequest,
  ): Promise<OneCommitAnswer> {
    return { commit: renderCommit(await this.prompts.commit(tenantId, { owner, repo }, body)) };
  }

  @Get(':owner/:repo/:commit', READ_RUNS, {
    summary: 'A commit with its manifest, by a tag, a hash or its beginning, or `latest`',
    answer: PulledCommitAnswer,
    refuses: { 404: NONE, 409: 'Several hashes begin so' },
    sends: 'json',
  })
  async pull(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Param('commit') commit: string,
    @Query() query: CommitQuery,
  ): Promise<string> {
    const path: PromptPath = { owner, repo };
    const withModel = query.include_model === true || query.include === 'model';
    return renderPulled(await this.prompts.pull(tenantId, path, commit, withModel));
  }
}

/** Likes of prompts: a workspace likes one or does not. */
@Resource('Prompts', ['likes', 'api/v1/likes'])
export class PromptLikesController {
  constructor(private readonly prompts: Prompts) {}

  @Post(':owner/:repo', WORKSPACE, {
    summary: 'Likes a prompt for the workspace, or ends that',
    answer: LikesAnswer,
    refuses: { 404: NONE },
  })
  async like(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Body() { like }: LikeRequest,
  ): Promise<LikesAnswer> {
    return { likes: likesOf(await this.prompts.setLiked(tenantId, { owner, repo }, like)) };
  }
}

/** Settings of the workspace, which clients read before they write a prompt. */
@Resource('Prompts', ['settings', 'api/v1/settings'])
export class SettingsController {
  constructor(private readonly workspaces: Workspaces) {}

  @Get('', READ_RUNS, {
    summary: 'The workspace of the key, as clients ask before they write prompts',
    answer: SettingsAnswer,
  })
  get(@FromCaller() { tenantId }: Caller): SettingsAnswer {
    const { metadata } = this.workspaces.get(tenantId);
    return {
      id: tenantId,
      display_name: metadata.name,
      created_at: metadata.creationTimestamp ?? new Date(0).toISOString(),
      tenant_handle: null,
    };
  }
}
