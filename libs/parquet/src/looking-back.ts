/** One row group of so many is tried, the first one at once. */
const GROUPS_OF_TRIAL = 16;

/**
 * Decides whether the long pages of a column look back far, by the newest trial: it makes conversations that
 * send their history again a quarter smaller, and costs a fifth of the CPU if nothing is repeated. Until a
 * trial has ended they do.
 *
 * The result of a trial holds once its row group is in the file, however early it was known: equal rows make
 * equal files.
 */
export class LookingBack {
  #isWorthwhile = true;
  #groups = 0;
  #isTried = false;

  get isWorthwhile(): boolean {
    return this.#isWorthwhile;
  }

  /** True once in a row group that is tried: for its first long page. */
  takeTrial(): boolean {
    const isDue = !this.#isTried && this.#groups % GROUPS_OF_TRIAL === 0;
    if (isDue) this.#isTried = true;
    return isDue;
  }

  endGroup(): void {
    this.#groups++;
    this.#isTried = false;
  }

  /**
   * @param pays result of the trial of a written group; undefined without a trial, or when it saw too little
   */
  heed(pays: boolean | undefined): void {
    if (pays !== undefined) this.#isWorthwhile = pays;
  }
}
