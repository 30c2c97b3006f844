import type { Readable } from 'node:stream';
import type { Caller } from '#lib/auth';
import { bodyPieces, readBody, type BufferBudget } from '#lib/http';
import { PublicError, type FieldProblem } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { splitBatch, type RunBatch, type RunOperation, type TraceStore } from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import { UnreadableError } from './byte-reader.js';
import { boundaryOf, multipartParts } from './multipart.js';
import { MultipartRuns, type NotKept } from './multipart-runs.js';

/** Largest part of a request; a single payload cannot be longer. */
const MAX_PART_BYTES = 67_108_864;

/** A broken client must not fill memory with its own problems. */
const MAX_PROBLEMS = 100;

/** Stores the runs that requests bring. */
export class TraceIngestion {
  constructor(
    private readonly store: Pick<TraceStore, 'ingest'>,
    private readonly budget: BufferBudget,
    private readonly maxBodyBytes: number,
    private readonly log: Logger,
  ) {}

  /** Bytes of all requests that are being read or stored. */
  get heldBytes(): number {
    return this.budget.held;
  }

  /** `{"post": […], "patch": […]}` @returns how many operations belong to deleted traces */
  async batch(caller: Caller, body: Readable): Promise<number> {
    return this.#whole(caller, body, (bytes) => this.#store(caller, splitBatch(bytes, ['body'])));
  }

  /** One run, created or updated. @returns 1 where it belongs to a deleted trace */
  async single(caller: Caller, kind: 'post' | 'patch', body: Readable, id?: string): Promise<number> {
    return this.#whole(caller, body, async (run) => {
      const operation: RunOperation = { run, place: ['body'], ...(id === undefined ? {} : { id }) };
      return this.#store(caller, { post: [], patch: [], [kind]: [operation] });
    });
  }

  /**
   * Stores while it reads. Runs before a mistake stay stored; sending all of them again changes nothing.
   * @returns parts that were accepted and not stored, and how many operations belong to deleted traces
   * @throws PublicError
   */
  async multipart(
    caller: Caller,
    contentType: string,
    body: Readable,
  ): Promise<{ notKept: NotKept; erased: number }> {
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) throw new PublicError('bad_request', 'The content type names no boundary');
    const account = this.budget.open(caller.tenantId);
    const runs = new MultipartRuns();
    const refused: FieldProblem[] = [];
    let erased = 0;
    const flush = async (isLast: boolean) => {
      const result = await this.store.ingest(caller.tenantId, runs.take(isLast), ownProject(caller));
      erased += result.erased;
      refused.push(...result.refused);
      refused.splice(MAX_PROBLEMS);
      account.keep(runs.heldBytes);
    };
    try {
      const limits = {
        maxBytes: this.maxBodyBytes,
        maxPartBytes: Math.min(MAX_PART_BYTES, this.maxBodyBytes),
      };
      for await (const part of multipartParts(bodyPieces(body, account.hold), boundary, limits)) {
        runs.add(part);
        if (runs.isFull) await flush(false);
      }
      await flush(true);
    } catch (error) {
      if (error instanceof UnreadableError) throw unreadable(error);
      throw error;
    } finally {
      account.keep(0);
    }
    const problems = [...runs.problems, ...refused];
    if (problems.length > 0) throw invalid(problems);
    const { notKept } = runs;
    if (notKept.attachments + notKept.feedback > 0)
      this.log.info({ notKept }, 'parts of a request were not stored');
    return { notKept, erased };
  }

  /** Bodies that cannot be handed on before their end count as long as they are worked on. */
  async #whole<T>({ tenantId }: Caller, body: Readable, work: (bytes: Buffer) => Promise<T>): Promise<T> {
    const account = this.budget.open(tenantId);
    try {
      const bytes = await readBody(body, this.maxBodyBytes, account.hold);
      if (bytes.length === 0) throw new PublicError('bad_request', 'A JSON body is required');
      return await work(bytes);
    } finally {
      account.keep(0);
    }
  }

  async #store(caller: Caller, batch: RunBatch): Promise<number> {
    const { refused, erased } = await this.store.ingest(caller.tenantId, batch, ownProject(caller));
    if (refused.length > 0) throw invalid(refused);
    return erased;
  }
}

/** The one project that a deployment's own key writes into. */
function ownProject(caller: Caller): string | undefined {
  return caller.scope === 'deployment' ? caller.project : undefined;
}

function unreadable(error: UnreadableError): PublicError {
  return error.isTooLarge
    ? new PublicError('too_large', `The request is too large: ${error.message}`)
    : invalid([{ loc: ['body'], msg: error.message, type: 'multipart_invalid' }]);
}
