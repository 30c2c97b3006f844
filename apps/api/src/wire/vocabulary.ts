import 'reflect-metadata';
import { isDeepStrictEqual } from 'node:util';
import { type FieldProblem, PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import { ANNOTATION, type KubeObject } from '#lib/resources';
import { noteOf, MAX_PROBLEMS, type RequestClass } from './excess.js';
import { INSTEAD, MEMBERS, VALUES, type ValueWords } from './words.js';

/** Words of values as a client sent them: member → word. */
export type SentWords = Readonly<Record<string, string>>;

/** A body in our words. */
export interface ReadBody {
  readonly body: JsonObject;
  readonly sent: SentWords;
  /** Paths of members that the request class does not have; they are not in the body. */
  readonly ignored: readonly string[];
}

/** Both words of values of a member, ours first. */
export function bothWords(member: string): readonly string[] {
  const found = VALUES.find((row) => row.member === member)?.words ?? [];
  return [...new Set(found.map(([ours]) => ours)), ...found.map(([, vendors]) => vendors)];
}

/** Our word for one of either vocabulary; an unknown word stays. */
export function ourWord(member: string, word: string): string {
  const row = VALUES.find((one) => one.member === member);
  return row?.words.find(([, vendors]) => vendors === word)?.[0] ?? word;
}

const rowOf = (part: string, member: string): ValueWords | undefined =>
  VALUES.find((row) => row.part === part && row.member === member);
const PARTS: ReadonlySet<string> = new Set([...MEMBERS, ...VALUES].map(({ part }) => part));

/**
 * Reads a body in either vocabulary.
 * @param isStrict unknown members stay in the body, whose class then refuses them
 * @throws PublicError bad_request for a body that names a deployment by something else; invalid for a member that comes under both of its names with different values
 */
export function readWords(type: RequestClass, body: JsonObject, isStrict: boolean): ReadBody {
  for (const [given, wanted] of Object.entries(INSTEAD))
    if (isGiven(body[given]) && noteOf(type, wanted)?.isRequired && !isGiven(body[wanted]))
      throw new PublicError(
        'bad_request',
        `${given} is not known here: give ${wanted} instead (--${wanted})`,
      );
  const reader = new Reader(isStrict);
  const read = reader.object(type, body, { part: '', loc: [] });
  if (reader.problems.length > 0)
    throw new PublicError('invalid', 'the request is not valid', reader.problems);
  return { body: read, sent: reader.sent, ignored: reader.ignored };
}

interface Place {
  readonly part: string;
  readonly loc: readonly (string | number)[];
  readonly isStrict?: boolean;
}

class Reader {
  readonly problems: FieldProblem[] = [];
  readonly ignored: string[] = [];
  readonly sent: Record<string, string> = {};

  constructor(private readonly isStrict: boolean) {}

  object(type: RequestClass, value: JsonObject, { part, loc, isStrict = this.isStrict }: Place): JsonObject {
    const read: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value)) {
      const ours = MEMBERS.find((row) => row.part === part && row.vendors === name)?.ours ?? name;
      const note = noteOf(type, ours);
      if (!note && !isStrict) {
        if (this.ignored.length < MAX_PROBLEMS) this.ignored.push([...loc, name].join('.'));
        continue;
      }
      const inner = note?.inside?.();
      const place = { part: ours, loc: [...loc, name], isStrict: isStrict || note?.isStrict === true };
      const next = inner ? this.#within(inner, member, place) : member;
      const translated = this.#value(part, ours, next);
      if (isGiven(read[ours]) && isGiven(translated) && !isDeepStrictEqual(read[ours], translated))
        this.problems.push({
          loc: ['body', ...loc, name],
          msg: `${namesOf(part, ours)} are one field and were given different values; give one of them`,
          type: 'value_error',
        });
      if (!Object.hasOwn(read, ours) || isGiven(translated)) read[ours] = translated;
    }
    return read;
  }

  #within(type: RequestClass, value: unknown, place: Place): unknown {
    if (Array.isArray(value))
      return (value as unknown[]).map((item, index) =>
        isJsonObject(item) ? this.object(type, item, { ...place, loc: [...place.loc, index] }) : item,
      );
    return isJsonObject(value) ? this.object(type, value, place) : value;
  }

  #value(part: string, member: string, value: unknown): unknown {
    if (typeof value !== 'string' || !rowOf(part, member)) return value;
    this.sent[member] = value;
    return ourWord(member, value);
  }
}

function namesOf(part: string, ours: string): string {
  return `${ours} and ${MEMBERS.find((row) => row.part === part && row.ours === ours)?.vendors ?? ''}`;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * An answer in both names of each member.
 * @param isVendors true: our words of values become the vendor's
 */
export function speakWords(answer: unknown, isVendors: boolean): unknown {
  if (Array.isArray(answer)) return answer.map((one) => speakWords(one, isVendors));
  if (!isPlain(answer)) return answer;
  const { resources } = answer;
  const said = spoken('', answer, isVendors);
  // a page of resources; of an export these are words
  return Array.isArray(resources) ? { ...said, resources: speakWords(resources, isVendors) } : said;
}

function spoken(part: string, object: JsonObject, isVendors: boolean): JsonObject {
  const said: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(object)) {
    const value = PARTS.has(name) && isPlain(member) ? spoken(name, member, isVendors) : member;
    said[name] = isVendors ? vendorsWord(part, name, value) : value;
    const other = MEMBERS.find((row) => row.part === part && row.ours === name);
    if (other) said[other.vendors] = said[name];
  }
  return said;
}

function vendorsWord(part: string, member: string, value: unknown): unknown {
  const row = rowOf(part, member);
  if (!row || row.isShared === true) return value;
  return row.words.find(([ours]) => ours === value)?.[1] ?? value;
}

/** True for an object of JSON, not for a stream or another instance of a class. */
export function isPlain(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The vendor's first word for one of ours. */
export function vendorWord(member: string, ours: string): string {
  const row = VALUES.find((one) => one.member === member);
  return row?.words.find(([own]) => own === ours)?.[1] ?? ours;
}

/**
 * Annotations by which an object remembers words of the vendor that it was created with; none for our words.
 * @param isAll true: our words are remembered too, where others would be answered without them
 */
export function rememberWords(sent: SentWords, isAll = false): Readonly<Record<string, string>> {
  const kept = Object.entries(sent).filter(([member, word]) => isAll || ourWord(member, word) !== word);
  return kept.length === 0 ? {} : { [ANNOTATION.words]: JSON.stringify(Object.fromEntries(kept)) };
}

/**
 * The word that an object was created with, where that means `value` still.
 * @param other answered where it has none
 */
export function wordFor<T extends string | undefined>(
  { metadata }: Pick<KubeObject, 'metadata'>,
  member: string,
  value: T,
  other: T | string = value,
): T | string {
  const text = metadata.annotations?.[ANNOTATION.words];
  if (text === undefined || value === undefined) return other;
  let kept: unknown;
  try {
    kept = parseJson(text);
  } catch {
    // users may write anything into the annotation
    return other;
  }
  const word = isJsonObject(kept) && Object.hasOwn(kept, member) ? kept[member] : undefined;
  return typeof word === 'string' && ourWord(member, word) === value ? word : other;
}
