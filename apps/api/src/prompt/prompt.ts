import { formatInstant } from '#lib/time';
import { type CommitTag, type Prompt, PROMPT_LIMITS, type PromptCommit } from '#lib/trace-store';
import { Transform } from 'class-transformer';
import { Choice, Flag, FreeObject, Text, TextList, Uuid } from '../wire/fields.js';
import { PageQuery, QueryFlag } from '../wire/query-flag.js';
import {
  Answered,
  asList,
  FLAG,
  JSON_VALUE,
  listOf,
  object,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
} from '../wire/shape.js';
import { jsonWith } from '../wire/stored-json.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Names of tags and hashes: they are written behind a colon, and in a path. */
const TAG = /^[^/:\u0000-\u001f\u007f]+$/;
const KINDS = ['prompt', 'file', 'agent', 'skill'];
const ORDERS = ['updated_at', 'num_likes', 'num_downloads', 'num_views', 'relevance'];

/** True for a text that may name a commit. */
export function isTag(text: string): boolean {
  return text.length <= 255 && TAG.test(text);
}

class PromptDetailsRequest {
  @Text({ isUnicode: true, about: 'Description for people' })
  description?: string | null;

  @Text({ maxLength: 65_536, isUnicode: true, about: 'Longer description, as Markdown' })
  readme?: string | null;

  @TextList({ maxSize: 100, maxLength: 256, about: 'Tags of the prompt, not of its commits' })
  tags?: string[] | null;

  @Flag({ about: 'Only false: public prompts are not supported' })
  is_public?: boolean | null;

  @Flag({ about: 'Only false: prompts have no rights of their own' })
  restricted_mode?: boolean | null;
}

/** Body of `POST /repos`. */
export class CreatePromptRequest extends PromptDetailsRequest {
  @Text({
    required: true,
    maxLength: 255,
    pattern: NAME,
    about: 'Name of the prompt, unique in the workspace',
  })
  repo_handle: string;

  @Choice(KINDS, { about: 'Only prompt' })
  repo_type?: string | null;
}

/** Body of `PATCH /repos/{owner}/{repo}`. Null or absent members stay as they are. */
export class UpdatePromptRequest extends PromptDetailsRequest {
  @Flag({ about: 'Archived prompts are left out of lists and can be pulled' })
  is_archived?: boolean | null;
}

/** Body of `POST /likes/{owner}/{repo}`. */
export class LikeRequest {
  @Flag({ required: true })
  like: boolean;
}

/** Body of `POST /commits/{owner}/{repo}`. */
export class CreateCommitRequest {
  @FreeObject({
    required: true,
    maxBytes: PROMPT_LIMITS.manifestBytes,
    about: 'The prompt as LangChain serialises it; stored and answered as it is, and never run',
  })
  manifest: Record<string, unknown>;

  @Text({ minLength: 7, maxLength: 64, about: 'Hash of the commit before it; the newest when absent' })
  parent_commit?: string | null;

  @Text({ maxLength: 1_000, isUnicode: true, about: 'Description for people' })
  description?: string | null;
}

/** Body of `POST /repos/{owner}/{repo}/tags`. */
export class CommitTagRequest {
  @Text({
    required: true,
    maxLength: 255,
    isUnicode: true,
    pattern: TAG,
    about: 'Name of the tag, but not latest; moved when another commit has it',
  })
  tag_name: string;

  @Uuid({ required: true })
  commit_id: string;
}

/** Query of `GET /repos`. */
export class PromptsQuery extends PageQuery {
  @Text({ maxLength: 1_000, about: 'Part of the name, the description or the readme, any case' })
  query?: string;

  @QueryFlag({ about: 'The name begins with the query' })
  match_prefix?: boolean;

  @QueryFlag({ about: 'True finds nothing: no prompt is public' })
  is_public?: boolean;

  @Choice(['true', 'false', 'allow'], { about: 'Archived ones alone, or all (`allow`); false when absent' })
  is_archived: string = 'false';

  @QueryFlag({ about: 'Prompts that have commits, or none' })
  has_commits?: boolean;

  @TextList({ maxSize: 100, maxLength: 256, about: 'Prompts with all of these tags' })
  @Transform(asList)
  tags?: string[];

  @Choice(KINDS, { about: 'Only prompt' })
  repo_type?: string;

  @Choice(ORDERS, {
    about: 'Downloads and views are not counted: they, and relevance, order by the last change',
  })
  sort_field: string = 'updated_at';

  @Choice(['asc', 'desc'])
  sort_direction: 'asc' | 'desc' = 'desc';
}

/** Query of `GET /commits/{owner}/{repo}`. */
export class CommitsQuery extends PageQuery {
  @Text({ maxLength: 255, about: 'Only the commit of this tag' })
  tag?: string;

  @QueryFlag({ about: 'Taken and without effect: a list has no manifests' })
  include_model?: boolean;
}

/** Query of `GET /commits/{owner}/{repo}/{commit}`. */
export class CommitQuery {
  @QueryFlag({ about: 'Also the model that the prompt was pushed with; else the prompt alone' })
  include_model?: boolean;

  @Choice(['model'], { about: 'The same' })
  include?: string;

  @QueryFlag({ about: 'Taken and without effect: commits have no examples' })
  get_examples?: boolean;
}

const NOT_COUNTED = 'Not counted: 0';

/** A prompt on the wire. */
class PromptAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT, 'Its name') readonly repo_handle: string;
  @Answered(TEXT, 'The same: prompts have no owner but the workspace') readonly full_name: string;
  @Answered(orNull(TEXT)) readonly owner: null;
  @Answered(TEXT) readonly repo_type: string;
  @Answered(TEXT) readonly description: string;
  @Answered(TEXT) readonly readme: string;
  @Answered(textList()) readonly tags: readonly string[];
  @Answered(textList(), 'Tags of its commits') readonly commit_tags: readonly string[];
  @Answered(FLAG) readonly is_public: boolean;
  @Answered(FLAG) readonly is_archived: boolean;
  @Answered(WHOLE, '1 when the workspace likes it') readonly num_likes: number;
  @Answered(FLAG) readonly liked_by_auth_user: boolean;
  @Answered(WHOLE, NOT_COUNTED) readonly num_downloads: number;
  @Answered(WHOLE, NOT_COUNTED) readonly num_views: number;
  @Answered(WHOLE) readonly num_commits: number;
  @Answered(orNull(TEXT)) readonly last_commit_hash: string | null;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
}

/** Answer to requests about one prompt. */
export class OnePromptAnswer {
  @Answered(object(() => PromptAnswer)) readonly repo: PromptAnswer;
}

/** Answer of `GET /repos`. */
export class PromptsAnswer {
  @Answered(listOf(() => PromptAnswer)) readonly repos: readonly PromptAnswer[];
  @Answered(WHOLE) readonly total: number;
}

/** A commit on the wire, without its manifest. */
class CommitAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly repo_id: string;
  @Answered(TEXT) readonly commit_hash: string;
  @Answered(orNull(UUID)) readonly parent_id: string | null;
  @Answered(orNull(TEXT)) readonly parent_commit_hash: string | null;
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(textList(), 'Empty: commits have no examples') readonly example_run_ids: readonly string[];
  @Answered(WHOLE, NOT_COUNTED) readonly num_downloads: number;
  @Answered(WHOLE, NOT_COUNTED) readonly num_views: number;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
}

/** Answer of `POST /commits/{owner}/{repo}`. */
export class OneCommitAnswer {
  @Answered(object(() => CommitAnswer)) readonly commit: CommitAnswer;
}

/** Answer of `GET /commits/{owner}/{repo}`. */
export class CommitsAnswer {
  @Answered(listOf(() => CommitAnswer)) readonly commits: readonly CommitAnswer[];
  @Answered(WHOLE) readonly total: number;
}

/** A commit with its manifest. */
export class PulledCommitAnswer {
  @Answered(TEXT) readonly commit_hash: string;
  @Answered(JSON_VALUE, 'As it was pushed') readonly manifest: unknown;
  @Answered(textList(), 'Empty') readonly examples: readonly string[];
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(FLAG) readonly is_draft: boolean;
}

export class CommitTagAnswer {
  @Answered(TEXT) readonly tag_name: string;
  @Answered(UUID) readonly commit_id: string;
  @Answered(TEXT) readonly commit_hash: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly updated_at: string;
}

/** Answer of `DELETE /repos/{owner}/{repo}`. */
export class DeletedAnswer {
  @Answered(TEXT, 'Its name') readonly deleted: string;
}

/** Answer of `POST /likes/{owner}/{repo}`. */
export class LikesAnswer {
  @Answered(WHOLE) readonly likes: number;
}

/** Facts about the workspace that clients ask for before they write prompts. */
export class SettingsAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TEXT) readonly display_name: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(orNull(TEXT), 'None: prompts have no public owner') readonly tenant_handle: null;
}

export function renderPrompt(prompt: Prompt): PromptAnswer {
  return {
    id: prompt.id,
    tenant_id: prompt.tenantId,
    repo_handle: prompt.name,
    full_name: prompt.name,
    owner: null,
    repo_type: 'prompt',
    description: prompt.description,
    readme: prompt.readme,
    tags: prompt.tags,
    commit_tags: prompt.commitTags,
    is_public: false,
    is_archived: prompt.isArchived,
    num_likes: likesOf(prompt),
    liked_by_auth_user: prompt.isLiked,
    num_downloads: 0,
    num_views: 0,
    num_commits: prompt.commits,
    last_commit_hash: prompt.lastHash ?? null,
    created_at: formatInstant(prompt.createdAt),
    updated_at: formatInstant(prompt.updatedAt),
  };
}

export function likesOf({ isLiked }: Prompt): number {
  return isLiked ? 1 : 0;
}

export function renderCommit(commit: PromptCommit): CommitAnswer {
  return {
    id: commit.id,
    repo_id: commit.promptId,
    commit_hash: commit.hash,
    parent_id: commit.parentId ?? null,
    parent_commit_hash: commit.parentHash ?? null,
    description: commit.description ?? null,
    example_run_ids: [],
    num_downloads: 0,
    num_views: 0,
    created_at: formatInstant(commit.createdAt),
    updated_at: formatInstant(commit.createdAt),
  };
}

/** JSON text of a {@link PulledCommitAnswer}. */
export function renderPulled(commit: PromptCommit & { readonly manifest: string }): string {
  const answer = {
    commit_hash: commit.hash,
    examples: [],
    description: commit.description ?? null,
    is_draft: false,
  };
  return jsonWith(answer, { manifest: commit.manifest });
}

export function renderTag(tag: CommitTag): CommitTagAnswer {
  return {
    tag_name: tag.name,
    commit_id: tag.commitId,
    commit_hash: tag.commitHash,
    created_at: formatInstant(tag.createdAt),
    updated_at: formatInstant(tag.updatedAt),
  };
}
