import { isJsonObject, type JsonObject, parseJson } from '#lib/json';

/** Something that an agent waits with. */
export interface Question {
  readonly id: string;
  readonly value: unknown;
}

/** Questions that the tasks of a thread's state wait with. */
export function questionsOf(
  tasks: readonly { readonly interrupts?: readonly Partial<Question>[] }[],
): Question[] {
  return tasks.flatMap(({ interrupts = [] }) => interrupts.map(({ id = '', value }) => ({ id, value })));
}

/** Decision of a person on one call of a tool. */
export type Decision =
  | { readonly kind: 'approve' }
  | { readonly kind: 'reject'; readonly reason: string }
  | { readonly kind: 'edit'; readonly args: JsonObject };

/** Calls of tools that an agent wants approved, in the words of LangChain's middleware for people in the loop. */
export function actionsOf(value: unknown): readonly JsonObject[] {
  if (!isJsonObject(value)) return [];
  const actions = value['action_requests'] ?? value['actionRequests'];
  return Array.isArray(actions) ? actions.filter(isJsonObject) : [];
}

/** The question of an agent, as text. */
export function questionText(value: unknown): string {
  if (typeof value === 'string') return value;
  const actions = actionsOf(value);
  if (actions.length > 0) return actions.map(actionText).join('\n');
  const { question, message } = isJsonObject(value) ? value : {};
  const text = question ?? message;
  return typeof text === 'string' ? text : JSON.stringify(value, undefined, 2);
}

/** A call of a tool that waits for a decision, as text. */
export function actionText({ name, args, arguments: other, description }: JsonObject): string {
  return `${String(name)} ${JSON.stringify(args ?? other ?? {})}${typeof description === 'string' ? `\n${description}` : ''}`;
}

/** The answer of a line of text: what is JSON is sent as that, everything else as text. */
export function resumeOf(text: string): unknown {
  try {
    const value = parseJson(text);
    return typeof value === 'object' || typeof value === 'boolean' ? value : text;
  } catch {
    return text;
  }
}

/** The answer to a question about calls of tools, in the spelling of the question. */
export function renderDecisions(question: unknown, decisions: readonly Decision[]): JsonObject {
  const isCamel = isJsonObject(question) && question['actionRequests'] !== undefined;
  const actions = actionsOf(question);
  return {
    decisions: decisions.map((decision, at) => {
      switch (decision.kind) {
        case 'approve':
          return { type: 'approve' };
        case 'reject':
          return { type: 'reject', ...(decision.reason === '' ? {} : { message: decision.reason }) };
        case 'edit': {
          const edited = { name: actions[at]?.['name'], args: decision.args };
          return { type: 'edit', [isCamel ? 'editedAction' : 'edited_action']: edited };
        }
        default:
          return decision satisfies never;
      }
    }),
  };
}

/** Value that resumes a thread: one answer is sent as it is, several by the ids of their questions. */
export function resumeAll(questions: readonly Question[], answers: readonly unknown[]): unknown {
  return answers.length === 1
    ? answers[0]
    : Object.fromEntries(questions.map(({ id }, at) => [id, answers[at]]));
}
