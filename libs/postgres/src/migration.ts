import type { Connection } from './open-pool.js';

interface NumberedStep {
  /** Steps are applied in the order of the list; the number is recorded. */
  readonly version: number;
  readonly name: string;
}

/** A step that is applied whole or not at all. */
interface TransactionalStep extends NumberedStep {
  readonly transaction?: true;
  /** One or more statements. */
  readonly sql: string;
}

/**
 * A step outside of a transaction, for CREATE INDEX CONCURRENTLY and its kin. A kill may fall between two statements or
 * before the step is recorded; then all of them are performed again, so each must be repeatable. An index that was
 * left invalid would satisfy IF NOT EXISTS: begin with DROP INDEX CONCURRENTLY IF EXISTS.
 */
interface BareStep extends NumberedStep {
  readonly transaction: false;
  /** One statement each. */
  readonly statements: readonly string[];
}

/**
 * A step in code: tables of another package, batches, an index of a partitioned table. A kill may fall before it is
 * recorded, so it must be repeatable.
 */
interface PerformedStep extends NumberedStep {
  readonly transaction: false;
  /** @param connection outside of a transaction; it holds the lock */
  readonly perform: (connection: Connection) => Promise<void>;
}

/** One numbered step of a schema. Once a release has it, it is never edited: a change is a new number. */
export type Migration = TransactionalStep | BareStep | PerformedStep;
