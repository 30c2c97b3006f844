import { randomUUID } from 'node:crypto';
import type { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { joinPieces } from '#lib/http';
import { PublicError, type FieldProblem } from '#lib/errors';
import { inTurns, JsonSyntaxError } from '#lib/json';
import { splitBatch, type RunBatch, type RunOperation, type TraceStore } from '#lib/trace-store';
import { mayChangeFeedback, readFeedbackParts } from '../feedback/feedback-parts.js';
import { invalid } from '../wire/request-pipe.js';
import { UnreadableError } from './byte-reader.js';
import { AttachmentIntake } from '../attachment/attachment-intake.js';
import { HeldBody, type SentBody } from './held-body.js';
import { boundaryOf, multipartParts } from './multipart.js';
import { MultipartRuns, type NotKept } from './multipart-runs.js';
import { ownProject } from './own-project.js';

/** Largest part of a request; a single payload cannot be longer. */
const MAX_PART_BYTES = 67_108_864;

/** A broken client must not fill memory with its own problems. */
const MAX_PROBLEMS = 100;

const MAX_NAME = 250;

/** Result for the runs of a request. */
export interface StoredRuns {
  /** Operations on traces that were deleted. */
  readonly erased: number;
  /** Members that were changed or left out. */
  readonly mended: readonly FieldProblem[];
}

/** Stores the runs that requests bring. */
export class TraceIngestion {
  constructor(
    private readonly store: Pick<TraceStore, 'ingest' | 'ingestProblems'>,
    private readonly budget: Admission,
    private readonly maxBodyBytes: number,
    private readonly attachmentsOf: (caller: Caller) => AttachmentIntake,
  ) {}

  /** Bytes of all requests that are being read or stored. */
  get heldBytes(): number {
    return this.budget.held;
  }

  /** `{"post": […], "patch": […]}` */
  async batch(caller: Caller, body: SentBody): Promise<StoredRuns> {
    return this.#whole(caller, body, async (bytes) => this.#store(caller, await this.#split(caller, bytes)));
  }

  /** One run, created or updated. One that is created without an id gets one. */
  async single(caller: Caller, kind: 'post' | 'patch', body: SentBody, id?: string): Promise<StoredRuns> {
    return this.#whole(caller, body, async (run) => {
      const named = id === undefined ? { newId: randomUUID() } : { id };
      const operation: RunOperation = { run, place: ['body'], ...named };
      return this.#store(caller, { post: [], patch: [], [kind]: [operation] });
    });
  }

  /**
   * Stores while it reads. Runs before a mistake stay stored; sending all of them again changes nothing.
   * @throws PublicError
   */
  async multipart(
    caller: Caller,
    contentType: string,
    body: SentBody,
  ): Promise<StoredRuns & { readonly notKept: NotKept }> {
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) throw new PublicError('bad_request', 'The content type names no boundary');
    const held = this.#hold(caller, body);
    const runs = new MultipartRuns();
    const refused: FieldProblem[] = [];
    const mended: FieldProblem[] = [];
    const attachments = this.attachmentsOf(caller);
    const leaveOut = (name: string, why: string): void => {
      runs.leaveOutAttachment(name, why);
      if (mended.length < MAX_PROBLEMS) mended.push(attachmentNotKept(name, why));
    };
    const room = {
      hold: (bytes: number) => held.hold(bytes),
      keep: (bytes: number) => held.keep(runs.heldBytes + bytes),
    };
    let erased = 0;
    const flush = async (isLast: boolean) => {
      const judged = await readFeedbackParts(runs.takeFeedback());
      refused.push(...judged.problems);
      const [wrong] = judged.problems;
      if (wrong) await this.#refuseWhole(caller, wrong.type, `${wrong.loc.join('.')}: ${wrong.msg}`);
      const replacesNone = !mayChangeFeedback(caller);
      const feedback = judged.feedback.map((one) => ({ ...one, replacesNone }));
      const batch = { ...runs.take(isLast), feedback };
      const result = await this.store.ingest(caller.tenantId, batch, ownProject(caller));
      erased += result.erased;
      refused.push(...result.refused);
      refused.splice(MAX_PROBLEMS);
      mended.push(...result.mended);
      mended.splice(MAX_PROBLEMS);
      held.keep(runs.heldBytes);
    };
    try {
      const limits = {
        maxBytes: this.maxBodyBytes,
        maxPartBytes: Math.min(MAX_PART_BYTES, this.maxBodyBytes),
        isStreamed: AttachmentIntake.isStreamed,
      };
      for await (const part of multipartParts(held.pieces(), boundary, limits)) {
        const { name, contentType, pieces, length } = part;
        if (pieces) await attachments.take({ name, contentType, pieces, length }, room, leaveOut);
        else runs.add(part);
        if (runs.isFull) await flush(false);
      }
      await flush(true);
      await attachments.link(leaveOut);
      if (runs.hasLeftOut) await flush(true);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      throw await this.#unreadable(caller, error);
    } finally {
      held.release();
    }
    const problems = [...runs.problems, ...refused];
    if (problems.length > 0) throw invalid(problems);
    return { notKept: runs.notKept, erased, mended };
  }

  /** Bodies that cannot be handed on before their end count as long as they are worked on. */
  async #whole<T>(caller: Caller, body: SentBody, work: (bytes: Buffer) => Promise<T>): Promise<T> {
    const held = this.#hold(caller, body);
    try {
      const bytes = await joinPieces(held.pieces(), this.maxBodyBytes);
      if (bytes.length === 0) throw new PublicError('bad_request', 'A JSON body is required');
      return await work(bytes);
    } catch (error) {
      throw error instanceof UnreadableError ? await this.#unreadable(caller, error) : error;
    } finally {
      held.release();
    }
  }

  #hold({ tenantId }: Caller, body: SentBody): HeldBody {
    return new HeldBody(body, this.budget.open(tenantId), this.maxBodyBytes);
  }

  /** @throws JsonSyntaxError, PublicError */
  async #split(caller: Caller, bytes: Buffer): Promise<RunBatch> {
    try {
      return await inTurns(splitBatch(bytes, ['body']));
    } catch (error) {
      if (error instanceof JsonSyntaxError) await this.#refuseWhole(caller, 'json_invalid', error.message);
      else if (error instanceof PublicError)
        for (const { loc, msg, type } of error.problems)
          await this.#refuseWhole(caller, type, `${loc.join('.')}: ${msg}`);
      throw error;
    }
  }

  /** A request none of whose runs could be read is also a problem of its project. */
  async #refuseWhole(caller: Caller, type: string, message: string): Promise<void> {
    await this.store.ingestProblems.refuse(caller.tenantId, { type, message }, ownProject(caller));
  }

  async #unreadable(caller: Caller, { isTooLarge, message, type }: UnreadableError): Promise<PublicError> {
    await this.#refuseWhole(caller, type, message);
    return isTooLarge
      ? new PublicError('too_large', `The request is too large: ${message}`)
      : invalid([{ loc: ['body'], msg: message, type }]);
  }

  async #store(caller: Caller, batch: RunBatch): Promise<StoredRuns> {
    const { refused, erased, mended } = await this.store.ingest(caller.tenantId, batch, ownProject(caller));
    if (refused.length > 0) throw invalid(refused);
    return { erased, mended };
  }
}

/** Problem in the form of the answer. */
function attachmentNotKept(name: string, why: string): FieldProblem {
  const msg = `storing the attachment failed: ${why}; the run is stored without it`;
  return { loc: ['body', name.slice(0, MAX_NAME)], msg, type: 'attachment_not_kept' };
}
