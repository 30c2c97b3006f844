import type { Scope } from '../../src/store/scope.js';
import type { Owned } from '../owned-rows.js';
import type { StoreFixture } from '../store-fixture.js';

/** A statement of the store as a caller asks it. */
export interface CallerStatement {
  /** Asks under a scope for rows of an owner. */
  readonly ask: (scope: Scope, owned: Owned, store: StoreFixture) => Promise<unknown>;
  /** The answer when those rows do not exist. */
  readonly absent: unknown;
}

/** By the name of the statement. */
export type CallerStatements = Readonly<Record<string, CallerStatement>>;

/** The page of searches. */
export const PAGE = { limit: 1_000, offset: 0 };
