/** Leave to give feedback to one run, under one key of feedback, without an API key. */
export interface NewFeedbackToken {
  readonly runId: string;
  readonly key: string;
  /** JSON text: how to read the score. */
  readonly config: string | undefined;
  /** Id of the feedback that is given, which is replaced each time; undefined: each has an id of its own. */
  readonly feedbackId: string | undefined;
  /** Lifetime in seconds, by the clock of the database. */
  readonly seconds: number;
  readonly place: readonly (string | number)[];
}

/** A token as it is answered once. */
export interface MintedFeedbackToken {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: Date;
}

/** Permission that a token grants. */
export interface FeedbackGrant {
  readonly tenantId: string;
  readonly runId: string;
  /** The only project whose run it is for. */
  readonly projectId: string | undefined;
  readonly key: string;
  readonly config: string | undefined;
  readonly feedbackId: string | undefined;
}

/** Tokens are signed, and stored as hashes. */
export interface FeedbackTokens {
  /**
   * @param onlyProject the one project whose runs the tokens are for
   * @throws PublicError invalid when a run has too many, or the tenant for runs that have not arrived
   */
  mint(
    tenantId: string,
    tokens: readonly NewFeedbackToken[],
    onlyProject?: string,
  ): Promise<readonly MintedFeedbackToken[]>;
  /** Tokens of a run that may still be used, oldest first, without the tokens themselves. */
  list(
    tenantId: string,
    runId: string,
    page: { readonly limit: number; readonly offset: number },
    onlyProject?: string,
  ): Promise<readonly Omit<MintedFeedbackToken, 'token'>[]>;
  /**
   * True when any store of this database made the token; its current state is not looked up.
   * @param token a UUID
   */
  isSigned(token: string): Promise<boolean>;
  /** Permission that a token grants; undefined for one that does not exist or has ended. */
  find(token: string): Promise<FeedbackGrant | undefined>;
}
