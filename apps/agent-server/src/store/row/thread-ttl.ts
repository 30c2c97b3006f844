/** Lifetime of a thread. */
export interface ThreadTtl {
  /** Action at its end: the thread is deleted, or all its states but the last. */
  readonly strategy: 'delete' | 'keep_latest';
  /** Minutes since its last change. */
  readonly minutes: number;
}

/** The same as the wire shows it. */
export interface WireThreadTtl {
  readonly strategy: ThreadTtl['strategy'];
  readonly ttl_minutes: number;
  readonly expires_at: string;
}
