import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { JSON_TYPE } from '../wire/stored-json.js';
import {
  CommitsAnswer,
  CommitTagAnswer,
  DeletedAnswer,
  likesOf,
  LikesAnswer,
  OneCommitAnswer,
  OnePromptAnswer,
  PromptsAnswer,
  PulledCommitAnswer,
  renderCommit,
  renderPrompt,
  renderPulled,
  renderTag,
  SettingsAnswer,
} from './prompt-answer.js';
import {
  CommitQuery,
  CommitsQuery,
  CommitTagRequest,
  CreateCommitRequest,
  CreatePromptRequest,
  LikeRequest,
  PromptsQuery,
  UpdatePromptRequest,
} from './prompt-request.js';
import { type PromptPath, Prompts } from './prompts.js';

const NONE = 'The workspace has no such prompt';

/** Prompts and the tags of their commits, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Prompts'))
@Controller(['repos', 'api/v1/repos'])
export class PromptsController {
  constructor(private readonly prompts: Prompts) {}

  @Get()
  @Operation({
    summary: 'Prompts of the workspace',
    answer: PromptsAnswer,
    refuses: { 400: 'Agents or skills are asked for' },
  })
  async list(@FromCaller() { tenantId }: Caller, @Query() query: PromptsQuery): Promise<PromptsAnswer> {
    const { prompts, total } = await this.prompts.list(tenantId, query);
    return { repos: prompts.map(renderPrompt), total };
  }

  @Post()
  @HttpCode(200)
  @Operation({
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

  @Get(':owner/:repo')
  @Operation({ summary: 'A prompt; the owner is `-`', answer: OnePromptAnswer, refuses: { 404: NONE } })
  async get(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<OnePromptAnswer> {
    return { repo: renderPrompt(await this.prompts.get(tenantId, { owner, repo })) };
  }

  @Patch(':owner/:repo')
  @Operation({ summary: 'Changes details of a prompt', answer: OnePromptAnswer, refuses: { 404: NONE } })
  async update(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
    @Body() body: UpdatePromptRequest,
  ): Promise<OnePromptAnswer> {
    return { repo: renderPrompt(await this.prompts.update(tenantId, { owner, repo }, body)) };
  }

  @Delete(':owner/:repo')
  @Operation({ summary: 'Deletes a prompt with its commits', answer: DeletedAnswer, refuses: { 404: NONE } })
  async delete(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<DeletedAnswer> {
    await this.prompts.delete(tenantId, { owner, repo });
    // the JavaScript client reads a body
    return { deleted: repo };
  }

  @Get(':owner/:repo/tags')
  @Operation({ summary: 'Tags of its commits', answer: [CommitTagAnswer], refuses: { 404: NONE } })
  async tags(
    @FromCaller() { tenantId }: Caller,
    @Param('owner') owner: string,
    @Param('repo') repo: string,
  ): Promise<CommitTagAnswer[]> {
    return (await this.prompts.tags(tenantId, { owner, repo })).map(renderTag);
  }

  @Post(':owner/:repo/tags')
  @HttpCode(200)
  @Operation({
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

  @Delete(':owner/:repo/tags/:tag_name')
  @HttpCode(204)
  @Operation({ summary: 'Removes a tag from its commit', status: 204, refuses: { 404: 'There is none' } })
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
@Described(({ ApiTags }) => ApiTags('Prompts'))
@Controller(['commits', 'api/v1/commits'])
export class PromptCommitsController {
  constructor(private readonly prompts: Prompts) {}

  @Get(':owner/:repo')
  @Operation({
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

  @Post(':owner/:repo')
  @HttpCode(200)
  @Operation({
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

  @Get(':owner/:repo/:commit')
  @Header('content-type', JSON_TYPE)
  @Operation({
    summary: 'A commit with its manifest, by a tag, a hash or its beginning, or `latest`',
    answer: PulledCommitAnswer,
    refuses: { 404: NONE, 409: 'Several hashes begin so' },
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
@Described(({ ApiTags }) => ApiTags('Prompts'))
@Controller(['likes', 'api/v1/likes'])
export class PromptLikesController {
  constructor(private readonly prompts: Prompts) {}

  @Post(':owner/:repo')
  @HttpCode(200)
  @Operation({
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
@Described(({ ApiTags }) => ApiTags('Prompts'))
@Controller(['settings', 'api/v1/settings'])
export class SettingsController {
  constructor(private readonly workspaces: Workspaces) {}

  @Get()
  @Operation({
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
