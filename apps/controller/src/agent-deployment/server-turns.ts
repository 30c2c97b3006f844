import { WaitingError } from '#lib/errors';
import { REASON } from '#lib/resources';

/** Half of the passes that there are at a time, for deployments of all workspaces. */
const MOST = 2;
const LOOK_MS = 1_000;

/**
 * Turns of asking Postgres servers of deployments' own. Whoever runs such a server can keep who asks it waiting, and has half
 * of the passes at most by that.
 */
export class ServerTurns {
  #taken = 0;

  /** @throws WaitingError while all turns are taken */
  async take<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#taken >= MOST)
      throw new WaitingError(
        REASON.databaseStarting,
        `${MOST} Postgres servers of deployments are being asked; this one comes after them`,
        LOOK_MS,
      );
    this.#taken++;
    try {
      return await ask();
    } finally {
      this.#taken--;
    }
  }
}
