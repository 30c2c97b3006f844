import { PublicError } from '#lib/errors';
import { isJsonObject, parseJson } from '#lib/json';
import type { CommitTag, Prompt, PromptCommit, TraceStore } from '#lib/trace-store';
import {
  type CommitTagRequest,
  type CommitsQuery,
  type CreateCommitRequest,
  type CreatePromptRequest,
  isTag,
  type PromptsQuery,
  type UpdatePromptRequest,
} from './prompt.js';
import { wrongField } from '../wire/request-pipe.js';

/** Owner of every prompt that a key reaches. */
const OWN = '-';

/** Place of a prompt in a path. */
export interface PromptPath {
  readonly owner: string;
  readonly repo: string;
}

/** Prompts, as requests ask for them. */
export class Prompts {
  constructor(private readonly store: Pick<TraceStore, 'prompts' | 'promptCommits'>) {}

  /** @throws PublicError conflict, forbidden, invalid, bad_request */
  create(tenantId: string, body: CreatePromptRequest): Promise<Prompt> {
    requirePrompts(body.repo_type);
    refusePublic(body);
    const { description, readme, tags } = body;
    return this.store.prompts.create(tenantId, body.repo_handle, {
      description: description ?? '',
      readme: readme ?? '',
      tags: tags ?? [],
      isArchived: false,
    });
  }

  /** @throws PublicError not_found */
  async get(tenantId: string, path: PromptPath): Promise<Prompt> {
    return found(path, await this.store.prompts.find(tenantId, nameOf(path)));
  }

  async list(
    tenantId: string,
    query: PromptsQuery,
  ): Promise<{ readonly prompts: readonly Prompt[]; readonly total: number }> {
    requirePrompts(query.repo_type);
    // no prompt is public, and none has a tag with U+0000
    const hasNone = query.is_public === true || query.tags?.some((tag) => tag.includes('\0')) === true;
    if (hasNone) return { prompts: [], total: 0 };
    const { query: text, match_prefix: isPrefix, has_commits: hasCommits, limit, offset } = query;
    return this.store.prompts.list(tenantId, {
      text,
      isPrefix,
      hasCommits,
      limit,
      offset,
      tags: query.tags,
      isArchived: query.is_archived === 'allow' ? undefined : query.is_archived === 'true',
      order: query.sort_field === 'num_likes' ? 'liked' : 'updated',
      direction: query.sort_direction,
    });
  }

  /** @throws PublicError not_found, invalid */
  async update(tenantId: string, path: PromptPath, body: UpdatePromptRequest): Promise<Prompt> {
    refusePublic(body);
    const { description, readme, tags, is_archived: isArchived } = body;
    const changed = await this.store.prompts.update(tenantId, nameOf(path), {
      description: description ?? undefined,
      readme: readme ?? undefined,
      tags: tags ?? undefined,
      isArchived: isArchived ?? undefined,
    });
    return found(path, changed);
  }

  /** @throws PublicError not_found */
  async setLiked(tenantId: string, path: PromptPath, isLiked: boolean): Promise<Prompt> {
    return found(path, await this.store.prompts.setLiked(tenantId, nameOf(path), isLiked));
  }

  /** @throws PublicError not_found */
  async delete(tenantId: string, path: PromptPath): Promise<void> {
    if (!(await this.store.prompts.delete(tenantId, nameOf(path)))) throw missing(path);
  }

  /** @throws PublicError not_found, conflict, forbidden */
  async commit(tenantId: string, path: PromptPath, body: CreateCommitRequest): Promise<PromptCommit> {
    const { manifest, parent_commit: parent, description } = body;
    const made = await this.store.promptCommits.create(tenantId, nameOf(path), {
      manifest: JSON.stringify(manifest),
      parent: parent ?? undefined,
      description: description ?? undefined,
    });
    return found(path, made);
  }

  /**
   * A commit with the JSON text of its manifest.
   * @throws PublicError not_found, conflict when the beginning of a hash is that of several
   */
  async pull(
    tenantId: string,
    path: PromptPath,
    which: string,
    withModel: boolean,
  ): Promise<PromptCommit & { readonly manifest: string }> {
    const name = nameOf(path);
    const commit = isTag(which) ? await this.store.promptCommits.find(tenantId, name, which) : undefined;
    if (commit) return withModel ? commit : { ...commit, manifest: withoutModel(commit.manifest) };
    const { commits } = await this.get(tenantId, path);
    throw new PublicError(
      'not_found',
      commits === 0
        ? `Commit ${which} not found: the prompt ${name} has no commits; push one first`
        : `Commit ${which} not found in the prompt ${name}; name a tag or a hash, of which 7 characters are enough`,
    );
  }

  /** @throws PublicError not_found */
  async commits(
    tenantId: string,
    path: PromptPath,
    { tag, limit, offset }: CommitsQuery,
  ): Promise<{ readonly commits: readonly PromptCommit[]; readonly total: number }> {
    const page = await this.store.promptCommits.list(tenantId, nameOf(path), { tag, limit, offset });
    return found(path, page);
  }

  /** @throws PublicError not_found, forbidden, invalid */
  async tag(tenantId: string, path: PromptPath, body: CommitTagRequest): Promise<CommitTag> {
    const { tag_name: tag, commit_id: commit } = body;
    if (tag === 'latest')
      throw wrongField(['body', 'tag_name'], 'latest is the newest commit; choose another name');
    return found(path, await this.store.promptCommits.tag(tenantId, nameOf(path), tag, commit.toLowerCase()));
  }

  /** @throws PublicError not_found */
  async tags(tenantId: string, path: PromptPath): Promise<readonly CommitTag[]> {
    return found(path, await this.store.promptCommits.tags(tenantId, nameOf(path)));
  }

  /** @throws PublicError not_found */
  async untag(tenantId: string, path: PromptPath, tag: string): Promise<void> {
    const name = nameOf(path);
    if (isTag(tag) && (await this.store.promptCommits.untag(tenantId, name, tag))) return;
    throw new PublicError('not_found', `Tag ${tag} not found in the prompt ${path.repo}`);
  }
}

/** @throws PublicError not_found for prompts of others, and names that no prompt can have */
function nameOf(path: PromptPath): string {
  if (path.owner !== OWN)
    throw new PublicError(
      'not_found',
      `Prompt ${path.owner}/${path.repo} not found: public prompts and prompts of other owners are not served here; name one of the workspace without an owner`,
    );
  if (!isTag(path.repo)) throw missing(path);
  return path.repo;
}

function missing({ repo }: PromptPath): PublicError {
  return new PublicError('not_found', `Prompt ${repo} not found in the workspace`);
}

function found<T>(path: PromptPath, value: T | undefined): T {
  if (value === undefined) throw missing(path);
  return value;
}

function requirePrompts(kind: string | null | undefined): void {
  if (kind && kind !== 'prompt')
    throw new PublicError(
      'bad_request',
      'agents and skills of a hub are not supported by this platform; nothing was stored or changed',
    );
}

function refusePublic(body: Pick<UpdatePromptRequest, 'is_public' | 'restricted_mode'>): void {
  if (body.is_public === true)
    throw wrongField(
      ['body', 'is_public'],
      'public prompts are not supported by this platform; leave it out',
    );
  if (body.restricted_mode === true)
    throw wrongField(['body', 'restricted_mode'], 'prompts have no rights of their own; leave it out');
}

/**
 * Manifest of the prompt alone, of one that was pushed with its model: a sequence that begins with the prompt. Clients
 * refuse to load classes of models unless they asked for them.
 */
function withoutModel(manifest: string): string {
  const parsed = parseJson(manifest);
  const id = isJsonObject(parsed) ? parsed['id'] : undefined;
  const kwargs = isJsonObject(parsed) ? parsed['kwargs'] : undefined;
  const isSequence = Array.isArray(id) && id.at(-1) === 'RunnableSequence';
  const first = isSequence && isJsonObject(kwargs) ? kwargs['first'] : undefined;
  return isJsonObject(first) ? JSON.stringify(first) : manifest;
}
