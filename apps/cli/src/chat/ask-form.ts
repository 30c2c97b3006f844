import {
  actionsOf,
  actionText,
  type Decision,
  questionText,
  renderDecisions,
  resumeOf,
} from '#lib/conversation';
import { isJsonObject } from '#lib/json';

/** Asks one question; undefined when the input has ended. */
export type Ask = (question: string) => Promise<string | undefined>;

/** The answer to what an agent asks: a decision on each call of a tool, or a line of text. */
export async function fillForm(value: unknown, ask: Ask, show: (text: string) => void): Promise<unknown> {
  const actions = actionsOf(value);
  if (actions.length === 0) {
    show(questionText(value));
    const text = await ask('answer> ');
    return text === undefined ? undefined : resumeOf(text);
  }
  const decisions: Decision[] = [];
  for (const action of actions) {
    show(actionText(action));
    const decision = await decide(ask);
    if (decision === undefined) return undefined;
    decisions.push(decision);
  }
  return renderDecisions(value, decisions);
}

async function decide(ask: Ask): Promise<Decision | undefined> {
  for (;;) {
    const word = (await ask('(a)pprove, (r)eject, (e)dit> '))?.trim().toLowerCase();
    if (word === undefined) return undefined;
    if (word === 'a' || word === 'approve') return { kind: 'approve' };
    if (word === 'r' || word === 'reject') return { kind: 'reject', reason: (await ask('reason> ')) ?? '' };
    if (word !== 'e' && word !== 'edit') continue;
    const args = resumeOf((await ask('arguments as JSON> ')) ?? '');
    if (isJsonObject(args)) return { kind: 'edit', args };
  }
}
