import { formatInstant } from '#lib/time';
import type { CommitTag, Prompt, PromptCommit } from '#lib/trace-store';
import {
  Answered,
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
