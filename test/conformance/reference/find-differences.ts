import type { Observation, SeenEvent, Transcript } from './observation.js';

/** Something that the two servers answered otherwise. Undefined: nothing there. */
export interface Difference {
  /** `scenario › step › place`. */
  readonly where: string;
  readonly ours: unknown;
  readonly reference: unknown;
}

/** Everything in which two transcripts of one scenario differ. */
export function findDifferences(ours: Transcript, reference: Transcript): Difference[] {
  const found: Difference[] = [];
  const steps = [...new Set([...ours.observations, ...reference.observations].map(({ step }) => step))];
  for (const step of steps) {
    const own = ours.observations.find((one) => one.step === step);
    const other = reference.observations.find((one) => one.step === step);
    const where = `${ours.scenario} › ${step}`;
    if (own && other) compareObservations(where, own, other, found);
    else found.push({ where, ours: own, reference: other });
  }
  return found;
}

function compareObservations(where: string, own: Observation, other: Observation, found: Difference[]): void {
  const at = `${where} › `;
  compare(`${at}status`, own.status, other.status, found);
  compare(`${at}headers`, own.headers, other.headers, found);
  if (own.events && other.events) compareEvents(`${at}events`, own.events, other.events, found);
  else if (own.events || other.events)
    found.push({ where: `${at}events`, ours: own.events, reference: other.events });
  compare(`${at}body`, own.body, other.body, found);
}

/** Events of the same name in the same order are compared; one that only one side has does not shift those behind it. */
function compareEvents(
  where: string,
  own: readonly SeenEvent[],
  other: readonly SeenEvent[],
  found: Difference[],
): void {
  const counts = new Map<string, number>();
  const placeOf = (event: string): string => {
    const count = (counts.get(event) ?? 0) + 1;
    counts.set(event, count);
    return `${where} ${event}#${count}`;
  };
  for (const [mine, theirs] of aligned(own, other)) {
    const place = placeOf((mine ?? theirs)?.event ?? '');
    if (mine && theirs) compare(place, mine.data, theirs.data, found);
    else found.push({ where: place, ours: mine?.data, reference: theirs?.data });
  }
}

type Pair = readonly [SeenEvent | undefined, SeenEvent | undefined];

/** What makes two events the same: the name, and what stands in them of their kind. */
function kindOf({ event, data }: SeenEvent): string {
  const { type, event: inner, name, payload } = isObject(data) ? data : {};
  const node = isObject(payload) ? payload['name'] : name;
  return [event, type, inner, node].map((part) => (typeof part === 'string' ? part : '')).join(' ');
}

/** The longest common subsequence of their kinds. */
function aligned(own: readonly SeenEvent[], other: readonly SeenEvent[]): Pair[] {
  const [kinds, otherKinds] = [own.map(kindOf), other.map(kindOf)];
  const width = other.length + 1;
  const lengths = new Uint32Array((own.length + 1) * width);
  const lengthAt = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = own.length - 1; row >= 0; row--)
    for (let column = other.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        kinds[row] === otherKinds[column]
          ? lengthAt(row + 1, column + 1) + 1
          : Math.max(lengthAt(row + 1, column), lengthAt(row, column + 1));
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < own.length || column < other.length) {
    const [mine, theirs] = [own[row], other[column]];
    if (mine && theirs && kinds[row] === otherKinds[column]) pairs.push([own[row++], other[column++]]);
    else if (mine && (!theirs || lengthAt(row + 1, column) >= lengthAt(row, column + 1)))
      pairs.push([own[row++], undefined]);
    else pairs.push([undefined, other[column++]]);
  }
  return pairs;
}

function compare(where: string, own: unknown, other: unknown, found: Difference[]): void {
  if (own === other) return;
  if (Array.isArray(own) && Array.isArray(other)) {
    if (own.length !== other.length)
      return void found.push({ where: `${where}.length`, ours: own.length, reference: other.length });
    own.forEach((one, at) => compare(`${where}[${at}]`, one, other[at], found));
  } else if (isObject(own) && isObject(other)) {
    for (const key of [...new Set([...Object.keys(own), ...Object.keys(other)])].sort())
      compare(`${where}.${key}`, own[key], other[key], found);
  } else found.push({ where, ours: own, reference: other });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
