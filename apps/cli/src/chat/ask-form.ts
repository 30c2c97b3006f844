import { isJsonObject, type JsonObject, parseJson } from '#lib/json';

/** Asks one question; undefined when the input has ended. */
export type Ask = (question: string) => Promise<string | undefined>;

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

/** A call of a tool, as text. */
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

/** The answer to what an agent asks: a decision on each call of a tool, or a line of text. */
export async function fillForm(value: unknown, ask: Ask, show: (text: string) => void): Promise<unknown> {
  const actions = actionsOf(value);
  if (actions.length === 0) {
    show(questionText(value));
    const text = await ask('answer> ');
    return text === undefined ? undefined : resumeOf(text);
  }
  const isCamel = isJsonObject(value) && value['actionRequests'] !== undefined;
  const decisions: unknown[] = [];
  for (const action of actions) {
    show(actionText(action));
    const decision = await decide(action, isCamel ? 'editedAction' : 'edited_action', ask);
    if (decision === undefined) return undefined;
    decisions.push(decision);
  }
  return { decisions };
}

async function decide(action: JsonObject, editedName: string, ask: Ask): Promise<unknown> {
  for (;;) {
    const word = (await ask('(a)pprove, (r)eject, (e)dit> '))?.trim().toLowerCase();
    if (word === undefined) return undefined;
    if (word === 'a' || word === 'approve') return { type: 'approve' };
    if (word === 'r' || word === 'reject') {
      const message = (await ask('reason> ')) ?? '';
      return { type: 'reject', ...(message === '' ? {} : { message }) };
    }
    if (word !== 'e' && word !== 'edit') continue;
    const args = resumeOf((await ask('arguments as JSON> ')) ?? '');
    if (isJsonObject(args)) return { type: 'edit', [editedName]: { name: action['name'], args } };
  }
}
