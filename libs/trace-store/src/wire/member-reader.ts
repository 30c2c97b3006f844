import type { FieldProblem } from '#lib/errors';
import { type ByteRange, parseJson } from '#lib/json';
import { isUuid } from '#lib/resources';
import { type Instant, isWithinYears, parseInstant } from '#lib/time';
import { isTraceTier, type RunStatus, type TraceTier } from '../run/stored-run.js';

/** A member of an operation that was changed or left out, so that its run can be stored. */
export interface MemberNote extends FieldProblem {
  readonly kind: 'mended' | 'dropped';
}

/**
 * Reads a time as tracing SDKs send it: ISO 8601, in UTC without a zone, or a number of milliseconds since 1970.
 * @returns undefined for everything else, and outside of the years 1 to 9999
 */
export function parseWireTime(value: unknown): Instant | undefined {
  if (typeof value === 'string') return parseInstant(value, { zone: 'optional' });
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) >= 1e15) return undefined;
  const instant = BigInt(Math.round(value * 1000));
  return isWithinYears(instant) ? instant : undefined;
}

/**
 * Facts are short. A longer value is ignored, since building it would take many times the memory of its text.
 */
const MAX_FACT_BYTES = 65_536;

/** The value of a short part of a JSON text. */
export function parseRange(bytes: Buffer, range: ByteRange): unknown {
  if (range.end - range.start > MAX_FACT_BYTES) return undefined;
  return parseJson(bytes.toString('utf8', range.start, range.end));
}

/** Members that are parsed; payloads stay bytes. */
export type LightMembers = Readonly<Record<string, unknown>>;

const STATUSES: readonly string[] = [
  'pending',
  'success',
  'error',
  'interrupted',
] satisfies readonly RunStatus[];

/** Tags are read and written whole whenever a run changes. */
const MAX_TAGS = 1000;
const MAX_TAG_CHARS = 65_536;

/** Text that Postgres can hold: U+0000 and halves of surrogate pairs are made visible instead of losing the run. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** Reads the small members of one operation, and collects its problems and repairs. */
export class MemberReader {
  readonly problems: FieldProblem[] = [];
  readonly #notes = new Map<string, MemberNote>();

  constructor(
    readonly place: readonly (string | number)[],
    readonly light: LightMembers,
  ) {}

  get notes(): readonly MemberNote[] {
    return [...this.#notes.values()];
  }

  note(name: string, msg: string, type: string, kind: MemberNote['kind'] = 'mended'): void {
    this.#notes.set(`${name} ${type}`, { loc: [...this.place, name], msg, type, kind });
  }

  refuse(name: string, msg: string, type: string): undefined {
    this.problems.push({ loc: [...this.place, name], msg, type });
    return undefined;
  }

  require(name: string): void {
    const isRefused = this.problems.some(({ loc }) => loc.at(-1) === name);
    if ((this.light[name] ?? undefined) === undefined && !isRefused)
      this.refuse(name, 'Field required', 'missing');
  }

  /** Undefined for missing and null. */
  text(name: string, maxLength: number): string | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') return this.refuse(name, 'Input should be a valid string', 'string_type');
    if (value.length > maxLength)
      return this.refuse(name, `String should have at most ${maxLength} characters`, 'string_too_long');
    return storable(value);
  }

  /** Too long a text is cut instead of losing its run. */
  cutText(name: string, maxLength: number): string | undefined {
    const value = this.light[name];
    if (typeof value !== 'string' || value.length <= maxLength) return this.text(name, maxLength);
    this.note(name, `String was cut to its first ${maxLength} characters`, 'string_too_long');
    const cut = value.slice(0, maxLength);
    return storable(/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut);
  }

  uuid(name: string): string | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    if (!isUuid(value)) return this.refuse(name, 'Input should be a valid UUID', 'uuid_parsing');
    return value.toLowerCase();
  }

  time(name: string): Instant | undefined {
    const value = this.light[name];
    if (value === undefined || value === null) return undefined;
    return (
      parseWireTime(value) ??
      this.refuse(
        name,
        'Input should be an ISO 8601 time or milliseconds since 1970, in the years 1 to 9999',
        'datetime_parsing',
      )
    );
  }

  tags(): readonly string[] | undefined {
    const value = this.light['tags'];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value)) return this.refuse('tags', 'Input should be a list of strings', 'list_type');
    if (!value.every((tag) => typeof tag === 'string'))
      this.note('tags', 'Tags that are not strings were replaced by their JSON text', 'string_type');
    const tags = value.map((tag: unknown) => (typeof tag === 'string' ? tag : JSON.stringify(tag)));
    if (tags.length > MAX_TAGS || tags.reduce((sum, tag) => sum + tag.length, 0) > MAX_TAG_CHARS)
      return this.refuse(
        'tags',
        `List should have at most ${MAX_TAGS} items of together at most ${MAX_TAG_CHARS} characters`,
        'too_long',
      );
    return tags.map(storable);
  }

  tier(): TraceTier | undefined {
    const value = this.text('trace_tier', 100)?.toLowerCase();
    if (value === undefined || isTraceTier(value)) return value;
    this.note(
      'trace_tier',
      'Input should be longlived or shortlived; the run got the tier of its project',
      'enum',
    );
    return undefined;
  }

  status(): RunStatus | undefined {
    const value = this.text('status', 100)?.toLowerCase();
    if (value === undefined || value === '' || STATUSES.includes(value))
      return (value || undefined) as RunStatus | undefined;
    this.note(
      'status',
      `Input should be ${STATUSES.join(', ')}; the status follows from the end time and the error`,
      'enum',
    );
    return undefined;
  }
}
