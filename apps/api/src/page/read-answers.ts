import {
  actionsOf,
  type Decision,
  type Question,
  renderDecisions,
  resumeAll,
  resumeOf,
  type Saying,
} from '#lib/conversation';
import { PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';

/** Fields of the form of a talk, in the order in which they were shown. */
export interface TalkFields {
  readonly text?: string | undefined;
  readonly question?: readonly string[] | undefined;
  readonly answer?: readonly string[] | undefined;
  readonly decision?: readonly string[] | undefined;
  readonly reason?: readonly string[] | undefined;
  readonly args?: readonly string[] | undefined;
}

/**
 * Meaning of a form: a message to the agent, or an answer to each question that the thread waits with.
 * @throws PublicError conflict when the thread waits with other questions than were shown; bad_request
 */
export function sayingOf(form: TalkFields, questions: readonly Question[]): Saying {
  const { text, question = [], answer = [] } = form;
  const isSame = question.length === questions.length && questions.every(({ id }, at) => id === question[at]);
  if (!isSame)
    throw new PublicError(
      'conflict',
      'The agent asks something else by now. Load the page again and answer that.',
    );
  if (questions.length === 0) {
    if (text === undefined || text.trim() === '')
      throw new PublicError('bad_request', 'The message is empty. Write something to the agent.');
    return { text };
  }
  let decisions = 0;
  let answers = 0;
  const given = questions.map(({ value }) => {
    const actions = actionsOf(value);
    if (actions.length === 0) return resumeOf(answer[answers++] ?? '');
    return renderDecisions(
      value,
      actions.map(() => decisionOf(form, decisions++)),
    );
  });
  return { resume: resumeAll(questions, given) };
}

function decisionOf({ decision = [], reason = [], args = [] }: TalkFields, at: number): Decision {
  switch (decision[at]) {
    case 'approve':
      return { kind: 'approve' };
    case 'reject':
      return { kind: 'reject', reason: reason[at] ?? '' };
    case 'edit': {
      const edited = resumeOf(args[at] ?? '');
      if (isJsonObject(edited)) return { kind: 'edit', args: edited };
      throw new PublicError('bad_request', 'The arguments of an edited call must be a JSON object.');
    }
    case undefined:
    default:
      throw new PublicError(
        'bad_request',
        'The form has no decision on one of the calls. Load the page again.',
      );
  }
}
