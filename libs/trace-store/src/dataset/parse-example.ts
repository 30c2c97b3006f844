import {
  type ByteRange,
  eachMember,
  expectEnd,
  JsonSyntaxError,
  type JsonWalk,
  parseJson,
  validatingJson,
} from '#lib/json';
import { isUtf8 } from 'node:buffer';
import type { FieldProblem } from '#lib/errors';
import { isUuid } from '#lib/resources';
import { repairSurrogates, replaceNonFinite, trimmed } from '../wire/text-pieces.js';
import { parseWireTime } from '../wire/member-reader.js';
import type { ExampleWrite } from './dataset.js';

/** The parts of an example as they came. */
export interface SentExample {
  readonly id: string;
  /** Its own part: a JSON object with all but inputs and outputs. */
  readonly body?: Buffer | undefined;
  readonly inputs?: Buffer | undefined;
  readonly outputs?: Buffer | undefined;
  /** Name of its part. */
  readonly place: readonly (string | number)[];
}

/** The parsed example and its problems. */
export interface ParsedExample {
  readonly example: ExampleWrite;
  readonly problems: readonly FieldProblem[];
  /** Members that were changed. */
  readonly mended: readonly FieldProblem[];
}

/** Maximum size of an example: one request reads all examples of a page. */
const MAX_EXAMPLE_BYTES = 16_777_216;
const MAX_METADATA_BYTES = 65_536;
/** Maximum size of an example's own part without the metadata. */
const MAX_LIGHT_BYTES = 65_536;
const MAX_SPLITS = 100;
const MAX_SPLIT = 255;
/** The metadata are put into an object of the answer. */
const MAX_DEPTH = 126;

/** Member in which clients name the splits of an example. */
const SPLIT = 'dataset_split';
const NULL = Buffer.from('null');

/** Parses an example of an upload, which may be long. Problems name its part, `body.ID.inputs`. */
export function parseExample(sent: SentExample): JsonWalk<ParsedExample> {
  return new ExampleReader(sent).read();
}

class ExampleReader {
  readonly #problems: FieldProblem[] = [];
  readonly #mended: FieldProblem[] = [];

  constructor(private readonly sent: SentExample) {}

  *read(): JsonWalk<ParsedExample> {
    const { id, inputs, outputs } = this.sent;
    const members = yield* this.#members();
    const metadata = members.get('metadata');
    const { object, splits: named } = metadata ? yield* this.#metadata(metadata) : {};
    const example: ExampleWrite = {
      id: id.toLowerCase(),
      ...this.#light(members),
      splits: members.has('split') ? this.#splits('split', members.get('split')) : named,
      metadata: object,
      inputs: inputs && (yield* this.#object('inputs', inputs)),
      outputs: outputs && (yield* this.#object('outputs', outputs)),
    };
    const bytes = [example.inputs, example.outputs].reduce((sum, part) => sum + (part?.length ?? 0), 0);
    if (bytes > MAX_EXAMPLE_BYTES)
      this.#refuse(undefined, `an example is at most ${MAX_EXAMPLE_BYTES} bytes long`, 'too_long');
    return { example, problems: this.#problems, mended: this.#mended };
  }

  /** Bytes of the members of its own part; clients send null for a member that they leave out. */
  *#members(): JsonWalk<ReadonlyMap<string, Buffer>> {
    const members = new Map<string, Buffer>();
    const { body } = this.sent;
    if (!body) return members;
    yield* this.#checked(undefined, () => this.#ownMembers(body, members));
    return members;
  }

  *#ownMembers(body: Buffer, members: Map<string, Buffer>): JsonWalk<void> {
    if (!isUtf8(body)) throw new JsonSyntaxError('the text is not UTF-8', 0);
    const visit = (name: string, { start, end }: ByteRange): void => {
      const value = body.subarray(start, end);
      const max = name === 'metadata' ? MAX_METADATA_BYTES : MAX_LIGHT_BYTES;
      if (value.equals(NULL)) return;
      if (!KNOWN.has(name))
        this.#refuse(name.slice(0, 100), 'Extra inputs are not permitted', 'extra_forbidden');
      else if (value.length > max) this.#refuse(name, `${name} is at most ${max} bytes long`, 'too_long');
      else members.set(name, value);
    };
    expectEnd(body, yield* eachMember(body, 0, visit, { isLenient: true }));
  }

  #light(members: ReadonlyMap<string, Buffer>): Pick<ExampleWrite, 'createdAt' | 'sourceRunId'> {
    const value = (name: string): unknown => {
      const bytes = members.get(name);
      return bytes && this.#parsed(name, bytes);
    };
    const [created, run] = [value('created_at'), value('source_run_id')];
    const createdAt = created === undefined ? undefined : parseWireTime(created);
    if (created !== undefined && createdAt === undefined)
      this.#refuse('created_at', 'Input should be an ISO 8601 time', 'datetime_parsing');
    if (run !== undefined && !isUuid(run))
      this.#refuse('source_run_id', 'Input should be a valid UUID', 'uuid_parsing');
    if (value('use_source_run_io') === true)
      this.#refuse(
        'use_source_run_io',
        'copying inputs and outputs of the run is not supported; send them',
        'not_supported',
      );
    const attachments = value('use_source_run_attachments');
    if (Array.isArray(attachments) && attachments.length > 0)
      this.#refuse(
        'use_source_run_attachments',
        'copying attachments of the run is not supported; send them',
        'not_supported',
      );
    return { createdAt, sourceRunId: isUuid(run) ? run : undefined };
  }

  /** Metadata without the splits that they name. */
  *#metadata(bytes: Buffer): JsonWalk<{ readonly object?: Buffer; readonly splits?: readonly string[] }> {
    const object = yield* this.#object('metadata', bytes);
    if (!object) return {};
    let named: Buffer | undefined;
    const others: string[] = [];
    yield* eachMember(object, 0, (name, { start, end }) => {
      const value = object.subarray(start, end);
      if (name === SPLIT) named = value;
      else others.push(`${JSON.stringify(name)}:${value.toString()}`);
    });
    if (!named) return { object };
    const splits = named.equals(NULL) ? undefined : this.#splits(`metadata.${SPLIT}`, named);
    return { object: Buffer.from(`{${others.join(',')}}`), ...(splits ? { splits } : {}) };
  }

  #splits(name: string, bytes: Buffer | undefined): readonly string[] | undefined {
    const value: unknown = bytes && this.#parsed(name, bytes);
    const splits: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isRight = (one: unknown): one is string =>
      typeof one === 'string' &&
      one.length > 0 &&
      one.length <= MAX_SPLIT &&
      one.isWellFormed() &&
      !one.includes('\0');
    if (splits.length <= MAX_SPLITS && splits.every(isRight))
      return splits.length === 0 ? undefined : [...new Set(splits)];
    this.#refuse(
      name,
      `Input should be a name of 1 to ${MAX_SPLIT} characters, or a list of at most ${MAX_SPLITS} of them`,
      'value_error',
    );
    return undefined;
  }

  /** A JSON object as it is to be stored; undefined for null. */
  *#object(name: string, given: Buffer): JsonWalk<Buffer | undefined> {
    return yield* this.#checked(name, () => this.#stored(name, given));
  }

  *#stored(name: string, given: Buffer): JsonWalk<Buffer | undefined> {
    const bytes = trimmed(given);
    if (bytes.equals(NULL)) return undefined;
    if (!isUtf8(bytes)) throw new JsonSyntaxError('the text is not UTF-8', 0);
    const json = yield* this.#finite(name, bytes);
    if (json[0] !== 0x7b) throw new JsonSyntaxError('an object was expected', 0);
    yield* repairSurrogates(json);
    return json;
  }

  *#finite(name: string, bytes: Buffer): JsonWalk<Buffer> {
    try {
      yield* validatingJson(bytes, MAX_DEPTH);
      return bytes;
    } catch (error) {
      const finite = error instanceof JsonSyntaxError ? yield* replaceNonFinite(bytes) : undefined;
      if (!finite) throw error;
      yield* validatingJson(finite, MAX_DEPTH);
      this.#mended.push({
        loc: [...this.sent.place, name],
        msg: 'NaN and Infinity, which JSON has no words for, were replaced by null',
        type: 'not_finite',
      });
      return finite;
    }
  }

  /** Parses a short text. */
  #parsed(name: string, bytes: Buffer): unknown {
    try {
      return parseJson(bytes.toString());
    } catch (error) {
      return this.#refuseUnreadable(name, error);
    }
  }

  *#checked<T>(name: string | undefined, work: () => JsonWalk<T>): JsonWalk<T | undefined> {
    try {
      return yield* work();
    } catch (error) {
      return this.#refuseUnreadable(name, error);
    }
  }

  #refuseUnreadable(name: string | undefined, error: unknown): undefined {
    if (!(error instanceof SyntaxError || error instanceof JsonSyntaxError)) throw error;
    this.#refuse(name, error.message, 'json_invalid');
  }

  #refuse(name: string | undefined, msg: string, type: string): void {
    if (this.#problems.length < 100)
      this.#problems.push({ loc: [...this.sent.place, ...(name === undefined ? [] : [name])], msg, type });
  }
}

const KNOWN: ReadonlySet<string> = new Set([
  'id',
  'dataset_id',
  'created_at',
  'metadata',
  'split',
  'source_run_id',
  'use_source_run_io',
  'use_source_run_attachments',
]);
