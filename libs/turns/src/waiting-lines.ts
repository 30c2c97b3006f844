/**
 * One line of waiting things for each owner. Lines are served in turn, so that an owner with a long one holds others up by
 * one thing at a time. What may be served, and when, is the caller's to say.
 */
export class WaitingLines<Owner, Waiting> {
  /** None is empty. The one that was served longest ago comes first. */
  readonly #lines = new Map<Owner, Waiting[]>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  lengthOf(owner: Owner): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  /**
   * What would be served next of each line, the line first that was served longest ago. A line that is served on the way
   * comes again at the end.
   */
  *firsts(): IterableIterator<readonly [owner: Owner, first: Waiting]> {
    for (const [owner, [first]] of this.#lines) if (first !== undefined) yield [owner, first];
  }

  join(owner: Owner, waiting: Waiting): void {
    const line = this.#lines.get(owner);
    if (line) line.push(waiting);
    else this.#lines.set(owner, [waiting]);
  }

  /** Takes the first of a line out of it; the line is behind all others then. */
  serve(owner: Owner): Waiting | undefined {
    const line = this.#lines.get(owner);
    const first = line?.shift();
    this.#lines.delete(owner);
    if (line && line.length > 0) this.#lines.set(owner, line);
    return first;
  }

  /** @returns whether it was still waiting */
  leave(owner: Owner, waiting: Waiting): boolean {
    const line = this.#lines.get(owner) ?? [];
    const at = line.indexOf(waiting);
    if (at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(owner);
    return true;
  }
}
