/** How long a thread lives. */
export interface ThreadTtl {
  /** What becomes of it then: it goes, or all its states but the last. */
  readonly strategy: 'delete' | 'keep_latest';
  /** Since it was last changed. */
  readonly minutes: number;
}

/** The same as the wire shows it. */
export interface WireThreadTtl {
  readonly strategy: ThreadTtl['strategy'];
  readonly ttl_minutes: number;
  readonly expires_at: string;
}
