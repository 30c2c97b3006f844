import { importOfAgent } from '../graph/agent-package.js';
import type { StoredRun } from '../store/row/stored-run.js';

/** A target of `goto` with its own state. */
interface WireSend {
  readonly node: string;
  readonly input?: unknown;
  readonly args?: unknown;
}

function isSend(value: unknown): value is WireSend {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'node') === 'string';
}

/** `goto` as the graph wants it: names, and instances of the agent's own `Send`. */
async function gotoOf(wire: unknown, agentFile: string): Promise<unknown> {
  const targets: unknown[] = Array.isArray(wire) ? wire : [wire];
  if (!targets.some(isSend)) return wire;
  const Send = (await importOfAgent(agentFile, '@langchain/langgraph'))?.['Send'];
  if (typeof Send !== 'function')
    throw new Error('goto with a Send: the agent has no package @langchain/langgraph; add it to the agent');
  return targets.map((target): unknown =>
    isSend(target) ? Reflect.construct(Send, [target.node, target.input ?? target.args ?? {}]) : target,
  );
}

/** A command as an instance of the agent's own class, for a write to a state from outside. */
export async function commandOf(
  command: StoredRun['kwargs']['command'],
  agentFile: string,
): Promise<unknown> {
  const Command = (await importOfAgent(agentFile, '@langchain/langgraph'))?.['Command'];
  if (typeof Command !== 'function')
    throw new Error('a command: the agent has no package @langchain/langgraph; add it to the agent');
  return Reflect.construct(Command, [await graphInput({ input: undefined, command }, agentFile)]);
}

/** The input to call the graph with: the input of the run, or a command to a graph that stopped. */
export async function graphInput(
  { input, command }: Pick<StoredRun['kwargs'], 'input' | 'command'>,
  agentFile: string,
): Promise<unknown> {
  if (!command) return input ?? null;
  const { goto, ...rest } = command;
  return {
    lg_name: 'Command',
    ...rest,
    ...(goto === undefined || goto === null ? {} : { goto: await gotoOf(goto, agentFile) }),
  };
}
