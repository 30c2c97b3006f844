/**
 * Position of an event in the output of a run: the same at every server and for every reader, and never given
 * twice. `n` counts the events of one attempt from 0, which is its opening.
 */
export interface Position {
  readonly attempt: number;
  readonly n: number;
}

/** Position before all events. */
export const BEGINNING: Position = { attempt: 0, n: 0 };

export function isAfter(one: Position, other: Position): boolean {
  return one.attempt === other.attempt ? one.n > other.n : one.attempt > other.attempt;
}

export function earlier(one: Position, other: Position): Position {
  return isAfter(one, other) ? other : one;
}

/**
 * Returns true when no event can be missing between the two: the next of its attempt, or the opening of a
 * later one.
 */
export function isNext(position: Position, before: Position): boolean {
  return position.attempt === before.attempt
    ? position.n === before.n + 1
    : position.attempt > before.attempt && position.n === 0;
}

/** The id of an event on the wire; clients take it as it is. */
export function positionText({ attempt, n }: Position): string {
  return `${attempt}-${n}`;
}

export function parsePosition(text: string): Position | undefined {
  const [, attempt, n] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  return attempt === undefined ? undefined : { attempt: Number(attempt), n: Number(n) };
}
