import { Admission } from '#lib/admission';
import { WaitingError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** Half of the passes that there are at a time, for deployments of all workspaces. */
const MOST = 2;
const LOOK_MS = 1_000;

/**
 * Bounds how many Postgres servers of deployments' own are asked at once. The owner of such a server can delay its answers,
 * and holds half of the passes at most.
 */
export class ServerTurns {
  readonly #asked = new Admission({ capacity: MOST });

  /**
   *
   * @throws WaitingError while all places are taken
   */
  async take<T>(ask: () => Promise<T>): Promise<T> {
    const place = this.#asked.tryEnter();
    if (!place)
      throw new WaitingError(
        REASON.databaseStarting,
        `${MOST} Postgres servers of deployments are being asked; this one comes after them`,
        LOOK_MS,
      );
    return ask().finally(place.release);
  }
}
