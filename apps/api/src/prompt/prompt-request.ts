import { Transform, Type } from 'class-transformer';
import { PROMPT_LIMITS } from '#lib/trace-store';
import { Choice, Flag, FreeObject, Text, TextList, Uuid, Whole } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';
import { asList } from '../wire/shape.js';

const MOST = 2_147_483_647;
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

class PagedQuery {
  @Whole({ min: 1, max: 100, fallback: 20, about: 'Most items to answer' })
  @Type(() => Number)
  limit: number = 20;

  @Whole({ min: 0, max: MOST, fallback: 0, about: 'Items to skip' })
  @Type(() => Number)
  offset: number = 0;
}

/** Query of `GET /repos`. */
export class PromptsQuery extends PagedQuery {
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
export class CommitsQuery extends PagedQuery {
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
