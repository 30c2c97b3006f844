import { Admission } from '#lib/admission';
import type { DestinationCheck, ObjectStoreSettings } from '#lib/object-store';

/**
 * Tests at a time, of all workspaces. Each looks names up, of which one process has 256 at a time for all of them, and may
 * take half a minute.
 */
const MAX_TESTS = 64;

const BUSY = 'testing the destination failed: too many tests are under way; try again';

export type PerformTest = (
  settings: ObjectStoreSettings,
  bucket: string,
  prefix: string | undefined,
) => Promise<DestinationCheck>;

/** Loaded when it is needed: the client takes 20 MB, and destinations are made rarely. */
const testInEarnest: PerformTest = async (...given) => {
  const { testDestination } = await import('#lib/object-store');
  return testDestination(...given);
};

/** Tries destinations out, a share of all tests for each workspace. */
export class DestinationTests {
  /** Counts tests as it does bytes: one workspace alone has half of them. */
  readonly #budget = new Admission({ capacity: MAX_TESTS, halves: true, refusal: BUSY });

  constructor(private readonly perform: PerformTest = testInEarnest) {}

  /** @throws PublicError too_many */
  run(tenantId: string, ...given: Parameters<PerformTest>): Promise<DestinationCheck> {
    return this.occupy(tenantId, () => this.perform(...given));
  }

  /**
   * Takes a place for as long as `work` lasts, such as waiting for a test that another program makes.
   * @throws PublicError too_many
   */
  async occupy<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const account = this.#budget.open(tenantId);
    account.hold(1);
    try {
      return await work();
    } finally {
      account.keep(0);
    }
  }
}
