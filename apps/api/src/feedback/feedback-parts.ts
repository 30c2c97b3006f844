import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { isJsonObject, JsonSyntaxError } from '#lib/json';
import { type Instant, parseInstant } from '#lib/time';
import type { NewFeedback } from '#lib/trace-store';
import { parseBody } from '../wire/body-parsers.js';
import { invalid, RequestPipe } from '../wire/request-pipe.js';
import { CreateFeedbackRequest } from './feedback-request.js';

/** Null and undefined have no text. */
export function jsonText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : JSON.stringify(value);
}

function id(text: string | null | undefined): string | undefined {
  return text?.toLowerCase();
}

export function instant(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

/**
 * Feedback as the store takes it.
 * @param place of the request that it came with
 * @throws PublicError invalid
 */
export function newFeedback(
  request: CreateFeedbackRequest,
  place: readonly (string | number)[],
): NewFeedback {
  const [runId, traceId, projectId] = [id(request.run_id), id(request.trace_id), id(request.session_id)];
  if (runId === undefined && projectId === undefined)
    throw invalid([
      {
        loc: [...place, 'run_id'],
        msg: 'run_id is required, or session_id for feedback of a project',
        type: 'missing',
      },
    ]);
  if (runId === undefined && traceId !== undefined)
    throw invalid([
      { loc: [...place, 'run_id'], msg: 'run_id is required beside trace_id', type: 'missing' },
    ]);
  const { feedback_config: config, feedbackConfig } = request;
  return {
    id: id(request.id) ?? randomUUID(),
    runId,
    traceId,
    projectId,
    place,
    startTime: instant(request.start_time),
    createdAt: instant(request.created_at),
    key: request.key,
    score: request.score ?? undefined,
    value: jsonText(request.value),
    correction: jsonText(request.correction),
    comment: request.comment ?? undefined,
    source: jsonText(request.feedback_source ?? { type: 'api', metadata: {} }),
    config: jsonText(config ?? feedbackConfig),
    extra: jsonText(request.extra),
    isError: request.error ?? undefined,
    extendsRetention: request.extend_trace_retention ?? undefined,
    comparativeExperimentId: id(request.comparative_experiment_id),
    feedbackGroupId: id(request.feedback_group_id),
  };
}

/**
 * True when a key may change feedback. A key of the scope `ingest` gives feedback but does not own any, so it
 * may not change it.
 */
export function mayChangeFeedback({ scope }: Pick<Caller, 'scope'>): boolean {
  return scope !== 'ingest';
}

/** Number of parts that are read before other requests are served. */
const READ_AT_ONCE = 20;
const MAX_NAME = 200;
/** A broken client must not fill memory with its own problems. */
const MAX_PROBLEMS = 100;

interface FeedbackPart {
  /** `feedback.ID`. */
  readonly name: string;
  readonly body: Buffer;
}

const pipe = new RequestPipe();

/** Feedback that came in parts of a multipart body; a problem of one part refuses that part alone. */
export async function readFeedbackParts(parts: readonly FeedbackPart[]): Promise<{
  readonly feedback: readonly NewFeedback[];
  readonly problems: readonly FieldProblem[];
}> {
  const feedback: NewFeedback[] = [];
  const problems: FieldProblem[] = [];
  for (const [at, part] of parts.entries()) {
    if (at % READ_AT_ONCE === READ_AT_ONCE - 1) await setImmediate();
    const place = ['body', part.name.slice(0, MAX_NAME)];
    try {
      feedback.push(await readPart(part, place));
    } catch (error) {
      if (problems.length >= MAX_PROBLEMS) continue;
      if (error instanceof JsonSyntaxError)
        problems.push({ loc: place, msg: error.message, type: 'json_invalid' });
      else if (error instanceof PublicError)
        problems.push(...error.problems.map((one) => ({ ...one, loc: [...place, ...one.loc.slice(1)] })));
      else throw error;
    }
  }
  return { feedback, problems: problems.slice(0, MAX_PROBLEMS) };
}

async function readPart({ name, body }: FeedbackPart, place: readonly string[]): Promise<NewFeedback> {
  const value = parseBody(body);
  const id = name.slice(name.indexOf('.') + 1);
  if (
    isJsonObject(value) &&
    typeof value['id'] === 'string' &&
    value['id'].toLowerCase() !== id.toLowerCase()
  )
    throw wrong('the id is another one than that of the part', 'value_error');
  const named = isJsonObject(value) ? { ...value, id } : value;
  const type = { type: 'body', metatype: CreateFeedbackRequest } as const;
  const request = (await pipe.transform(named, type)) as CreateFeedbackRequest;
  return { ...newFeedback(request, ['body']), place };
}

function wrong(msg: string, type: string): PublicError {
  return new PublicError('invalid', msg, [{ loc: ['body'], msg, type }]);
}
