import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { joinPieces } from '#lib/http';
import { inTurns } from '#lib/json';
import {
  jsonSpans,
  protobufSpans,
  type ReceivedSpan,
  runOfSpan,
  type SpanOperation,
  UnreadableRequestError,
} from '#lib/otlp';
import type { TraceStore } from '#lib/trace-store';
import { UnreadableError } from '../trace/byte-reader.js';
import { HeldBody, type SentBody } from '../trace/held-body.js';
import { ownProject } from '../trace/own-project.js';
import type { SpanEncoding } from './answer-statuses.js';

const PROJECT = 'langsmith-project';
const AGENT = 'langsmith-agent-id';

/** The project that an exporter's headers name for spans that name none. @throws PublicError bad_request */
function projectOfHeaders(headers: Readonly<Record<string, unknown>>): string | undefined {
  if (headers[AGENT] !== undefined)
    throw new PublicError(
      'bad_request',
      'Langsmith-Agent-Id is not supported by this platform; name the project in Langsmith-Project',
    );
  const name = headers[PROJECT];
  if (typeof name !== 'string' || name === '') return undefined;
  // the server reads headers byte by byte, and clients write names in UTF-8
  const bytes = Buffer.from(name, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : name;
}

/** A batch is handed on at this size: memory stays bounded, and one transaction stores many runs. */
const FULL_BYTES = 8_388_608;
const FULL_SPANS = 500;
/** Number of spans that are mapped before other requests are served. */
const MAPPED_AT_ONCE = 10;
const LONG_BYTES = 262_144;
/** Factor for parsed JSON, which takes about as much again as its text. */
const PARSED_JSON = 2;
const PROBLEMS_IN_MESSAGE = 3;

/** Result of an export: `rejected` spans were not stored. */
export interface StoredSpans {
  readonly rejected: number;
  /** Reason, and the parts that other spans lost; empty when there is none. */
  readonly message: string;
}

export interface SpanRequest {
  readonly encoding: SpanEncoding;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Stores the spans that exporters send. */
export class SpanIngestion {
  constructor(
    private readonly runs: Pick<TraceStore, 'ingest' | 'ingestProblems'>,
    private readonly budget: Admission,
    private readonly maxBodyBytes: number,
  ) {}

  /**
   * Stores while it decodes. Spans before a mistake stay stored; sending all of them again changes nothing.
   * @throws PublicError
   */
  async store(caller: Caller, body: SentBody, { encoding, headers }: SpanRequest): Promise<StoredSpans> {
    const project = projectOfHeaders(headers);
    const held = new HeldBody(body, this.budget.open(caller.tenantId), this.maxBodyBytes);
    try {
      const bytes = await joinPieces(held.pieces(), this.maxBodyBytes);
      if (encoding === 'json') held.hold(bytes.length * (PARSED_JSON - 1));
      const spans = encoding === 'json' ? jsonSpans(bytes) : protobufSpans(bytes);
      const batch = new SpanBatch(held, bytes.length * (encoding === 'json' ? PARSED_JSON : 1));
      return await this.#storeAll(caller, spans, batch, project);
    } catch (error) {
      if (!(error instanceof UnreadableError || error instanceof UnreadableRequestError)) throw error;
      const { isTooLarge, message } = error;
      await this.#refuse(caller, error instanceof UnreadableError ? error.type : 'otlp_invalid', message);
      throw isTooLarge
        ? new PublicError('too_large', `The request is too large: ${message}`)
        : new PublicError('bad_request', message);
    } finally {
      held.release();
    }
  }

  async #storeAll(
    caller: Caller,
    spans: Iterable<ReceivedSpan | undefined>,
    batch: SpanBatch,
    project: string | undefined,
  ): Promise<StoredSpans> {
    const outcome = new Outcome();
    const flush = async (): Promise<void> => {
      const post = batch.take();
      if (post.length === 0) return;
      const result = await this.runs.ingest(caller.tenantId, { post, patch: [] }, ownProject(caller));
      outcome.refuse(post.length - result.accepted - result.erased, result.refused);
      outcome.mend(result.mended);
      batch.release();
    };
    const invalid: string[] = [];
    let [seen, beyond] = [0, 0];
    for (const received of spans) {
      if (!received || ++seen % MAPPED_AT_ONCE === 0 || batch.isLong) await setImmediate();
      if (!received) continue;
      if (batch.mappedBytes > this.maxBodyBytes) {
        beyond++;
        continue;
      }
      const run = await inTurns(runOfSpan(received, project));
      if ('message' in run) {
        const problem = { loc: [...run.place, run.member], msg: run.message, type: 'otlp_invalid' };
        outcome.refuse(1, [problem]);
        if (invalid.length < PROBLEMS_IN_MESSAGE) invalid.push(render(problem));
        continue;
      }
      if (received.span.leftOut > 0)
        outcome.mend([
          {
            loc: received.place,
            msg: `${received.span.leftOut} attributes, values, events or links were left out, being too many or nested too deeply`,
            type: 'too_long',
          },
        ]);
      batch.add(run);
      if (batch.isFull) await flush();
    }
    await flush();
    if (invalid.length > 0) await this.#refuse(caller, 'otlp_invalid', invalid.join('; '));
    if (beyond > 0) {
      const msg = `the runs of this request take more than ${this.maxBodyBytes} bytes; send fewer spans at a time, or a resource with fewer attributes`;
      outcome.refuse(beyond, [{ loc: ['resourceSpans'], msg, type: 'too_large' }]);
      await this.#refuse(caller, 'too_large', `${beyond} spans were refused: ${msg}`);
    }
    return outcome.answer;
  }

  /** Records a problem of the project for spans that no run could be made of. */
  async #refuse(caller: Caller, type: string, message: string): Promise<void> {
    await this.runs.ingestProblems.refuse(caller.tenantId, { type, message }, ownProject(caller));
  }
}

/** Runs that are stored together, on the account of their request. */
class SpanBatch {
  #runs: SpanOperation[] = [];
  #bytes = 0;
  #lastBytes = 0;
  #mappedBytes = 0;

  /** @param bodyBytes that are held as long as spans are read from them */
  constructor(
    private readonly held: HeldBody,
    private readonly bodyBytes: number,
  ) {}

  /** @throws PublicError too_many */
  add(run: SpanOperation): void {
    const bytes = Object.values(run.fields).reduce((sum, field) => sum + field.length, run.run.length);
    this.held.hold(bytes);
    this.#bytes += bytes;
    this.#mappedBytes += bytes;
    this.#lastBytes = bytes;
    this.#runs.push(run);
  }

  get isFull(): boolean {
    return this.#bytes >= FULL_BYTES || this.#runs.length >= FULL_SPANS;
  }

  /**
   * Mapped bytes of all runs that were added: a few bytes of a resource are repeated in each of its spans.
   */
  get mappedBytes(): number {
    return this.#mappedBytes;
  }

  /** True when its last run was so long that others should be served. */
  get isLong(): boolean {
    return this.#lastBytes >= LONG_BYTES;
  }

  take(): readonly SpanOperation[] {
    const runs = this.#runs;
    this.#runs = [];
    this.#bytes = 0;
    return runs;
  }

  /** Releases the memory of the runs that were taken: they are stored. */
  release(): void {
    this.held.keep(this.bodyBytes);
  }
}

/** Outcome of the spans of a request. */
class Outcome {
  #rejected = 0;
  readonly #refused: string[] = [];
  #mended = 0;
  readonly #left: string[] = [];

  refuse(spans: number, problems: readonly FieldProblem[]): void {
    this.#rejected += spans;
    for (const problem of problems)
      if (this.#refused.length < PROBLEMS_IN_MESSAGE) this.#refused.push(render(problem));
  }

  mend(problems: readonly FieldProblem[]): void {
    this.#mended += problems.length;
    for (const problem of problems)
      if (this.#left.length < PROBLEMS_IN_MESSAGE) this.#left.push(render(problem));
  }

  get answer(): StoredSpans {
    const said = [
      ...(this.#rejected > 0 ? [`${this.#rejected} spans were refused: ${this.#refused.join('; ')}`] : []),
      ...(this.#mended > 0
        ? [`${this.#mended} members of stored spans were changed: ${this.#left.join('; ')}`]
        : []),
    ];
    return { rejected: this.#rejected, message: said.join('. ') };
  }
}

function render({ loc, msg }: FieldProblem): string {
  return `${loc.join('.')}: ${msg}`;
}
