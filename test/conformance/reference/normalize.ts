import type { Transcript } from './observation.js';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HASH = /\b[0-9a-f]{32}\b/g;
const TIME = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?/g;
const URL_OF_SERVER = /https?:\/\/(127\.0\.0\.1|localhost)(:\d+)?/g;

/** Fields that name a thing: it is called by its kind and by when it came first. */
const NAMED: Readonly<Record<string, string>> = {
  thread_id: 'thread',
  run_id: 'run',
  cron_id: 'cron',
  checkpoint_id: 'checkpoint',
};

/** Calls things by the same names at every server: ids, times, addresses. Keys are sorted, as JSON does not order them. */
export function normalize(transcript: Transcript, assistants: ReadonlyMap<string, string>): Transcript {
  const names = new Map(assistants);
  const counts = new Map<string, number>();
  const note = (kind: string, id: string): void => {
    if (names.has(id)) return;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(id, `<${kind} ${count}>`);
  };
  noteNames(transcript.observations, note);
  const called = (text: string): string =>
    text
      .replace(UUID, (id) => names.get(id) ?? '<uuid>')
      .replace(HASH, '<hash>')
      .replace(TIME, '<time>')
      .replace(URL_OF_SERVER, '<server>');
  return rename(transcript, called) as Transcript;
}

function noteNames(value: unknown, note: (kind: string, id: string) => void): void {
  if (Array.isArray(value)) for (const one of value) noteNames(one, note);
  // runs of the library's own, whose number is not that of the runs which the server made
  else if (isLibraryEvent(value)) return;
  else if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value).sort()) {
      const one = (value as Record<string, unknown>)[key];
      const kind = NAMED[key];
      if (kind !== undefined && typeof one === 'string' && one.replace(UUID, '') === '') note(kind, one);
      else noteNames(one, note);
    }
}

function isLibraryEvent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'event' in value && value.event === 'events';
}

function rename(value: unknown, called: (text: string) => string): unknown {
  if (typeof value === 'string') return called(value);
  // scores of searches, which are rounded to 32 bits at one server
  if (typeof value === 'number') return Number(value.toPrecision(6));
  if (Array.isArray(value)) return value.map((one) => rename(one, called));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [called(key), rename(one, called)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
