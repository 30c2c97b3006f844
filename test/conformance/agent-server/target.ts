/** An address at which the agent of this suite serves, whatever runs it. */
export interface Target {
  readonly url: string;
  /** Of every request: an API key where the server asks for one. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where an agent with handlers of its own serves; see `Needs`. */
  readonly guardedUrl?: string;
}

/**
 * What only some targets have: `guarded` an agent with authentication handlers, `key` API keys, `tuned` settings with
 * which crons fire each second and webhooks may call this machine.
 */
export type Needs = 'guarded' | 'key' | 'tuned';

/** One promise of the server, kept for one client. */
export interface Row {
  /** The client, as the title of its group. */
  readonly client: string;
  /** A predicate of the server. */
  readonly name: string;
  readonly check: (target: Target) => Promise<void>;
  readonly needs?: Needs;
  /** Why the row cannot be checked on this machine. */
  readonly missing?: string;
}

export type Checks<Using extends unknown[]> = Readonly<Record<string, (...using: Using) => Promise<void>>>;

/** Rows of one client, by their names. */
export function rowsOf(client: string, checks: Checks<[Target]>, needs?: Needs): Row[] {
  return Object.entries(checks).map(([name, check]) => ({
    client,
    name,
    check,
    ...(needs ? { needs } : {}),
  }));
}
