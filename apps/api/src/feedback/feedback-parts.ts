import { setImmediate } from 'node:timers/promises';
import { PublicError, type FieldProblem } from '#lib/errors';
import { isJsonObject, JsonSyntaxError } from '#lib/json';
import { type NewFeedback } from '#lib/trace-store';
import { parseBody } from '../wire/body-parsers.js';
import { RequestPipe } from '../wire/request-pipe.js';
import { CreateFeedbackRequest } from './feedback-request.js';
import { newFeedback } from './read-feedback.js';

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
