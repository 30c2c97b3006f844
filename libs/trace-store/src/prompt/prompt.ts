import type { Instant } from '#lib/time';

/** Limits of prompts. */
export const PROMPT_LIMITS = {
  /** Prompts of a workspace. */
  prompts: 1_000,
  /** Commits of a prompt. */
  commits: 10_000,
  /** Tags of the commits of a prompt. */
  commitTags: 100,
  /** Bytes of the JSON text of a manifest. */
  manifestBytes: 524_288,
  /** Bytes of all manifests of a workspace. */
  bytes: 268_435_456,
} as const;

/** Members of a prompt that its owner chooses. */
export interface PromptDetails {
  readonly description: string;
  readonly readme: string;
  readonly tags: readonly string[];
  readonly isArchived: boolean;
}

/** A named prompt; its text is in its commits. */
export interface Prompt extends PromptDetails {
  readonly tenantId: string;
  readonly id: string;
  readonly name: string;
  readonly isLiked: boolean;
  readonly commits: number;
  /** Hash of the newest commit. */
  readonly lastHash: string | undefined;
  /** Names of the tags of its commits. */
  readonly commitTags: readonly string[];
  readonly createdAt: Instant;
  /** When its details changed or a commit was added. */
  readonly updatedAt: Instant;
}

export interface PromptSearch {
  /** Part of the name, the description or the readme, in any case. */
  readonly text?: string | undefined;
  /** True when the name must begin with the text. */
  readonly isPrefix?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly isArchived?: boolean | undefined;
  readonly hasCommits?: boolean | undefined;
  readonly order: 'updated' | 'liked';
  readonly direction: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
}

/** A version of a prompt without its manifest. */
export interface PromptCommit {
  readonly id: string;
  readonly promptId: string;
  readonly hash: string;
  readonly parentId: string | undefined;
  readonly parentHash: string | undefined;
  readonly description: string | undefined;
  readonly createdAt: Instant;
}

export interface NewCommit {
  /** JSON text of an object. */
  readonly manifest: string;
  /** Hash of the commit that it follows, or how it begins; the newest one when undefined. */
  readonly parent?: string | undefined;
  readonly description?: string | undefined;
}

/** A name of one commit, which may move to another. */
export interface CommitTag {
  readonly name: string;
  readonly commitId: string;
  readonly commitHash: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Prompts, of one tenant at a time; each is found by its name. `undefined` answers: there is no such prompt. */
export interface Prompts {
  /** @throws PublicError conflict when the name is taken, forbidden beyond the limit */
  create(tenantId: string, name: string, details: PromptDetails): Promise<Prompt>;
  find(tenantId: string, name: string): Promise<Prompt | undefined>;
  list(
    tenantId: string,
    search: PromptSearch,
  ): Promise<{ readonly prompts: readonly Prompt[]; readonly total: number }>;
  /** Undefined members stay as they are. */
  update(
    tenantId: string,
    name: string,
    change: { readonly [K in keyof PromptDetails]?: PromptDetails[K] | undefined },
  ): Promise<Prompt | undefined>;
  setLiked(tenantId: string, name: string, isLiked: boolean): Promise<Prompt | undefined>;
  /** Deletes it with its commits and tags. @returns false when there was none */
  delete(tenantId: string, name: string): Promise<boolean>;
}

/** Versions of prompts, of one tenant at a time. `undefined` answers: there is no such prompt. */
export interface PromptCommits {
  /**
   * Adds a version.
   * @throws PublicError conflict when its parent has the same manifest already; not_found for its parent;
   * forbidden beyond a limit
   */
  create(tenantId: string, name: string, commit: NewCommit): Promise<PromptCommit | undefined>;
  /**
   * @param which `latest`, a tag, a hash, or how a hash begins
   * @returns undefined also when there is no such commit
   * @throws PublicError conflict when several hashes begin so
   */
  find(
    tenantId: string,
    name: string,
    which: string,
  ): Promise<(PromptCommit & { readonly manifest: string }) | undefined>;
  /** Newest first. @param tag only the commit of this tag */
  list(
    tenantId: string,
    name: string,
    page: { readonly tag?: string | undefined; readonly limit: number; readonly offset: number },
  ): Promise<{ readonly commits: readonly PromptCommit[]; readonly total: number } | undefined>;
  /**
   * Gives a commit a tag, or moves it there.
   * @throws PublicError not_found for the commit, forbidden beyond the limit
   */
  tag(tenantId: string, name: string, tag: string, commitId: string): Promise<CommitTag | undefined>;
  tags(tenantId: string, name: string): Promise<readonly CommitTag[] | undefined>;
  /** @returns false when there was none */
  untag(tenantId: string, name: string, tag: string): Promise<boolean>;
}
