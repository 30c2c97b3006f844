import { isJsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';

/**
 * Symbol that `getLogger()` of `@langchain/langgraph-sdk/logging` reads, for every copy of it that an agent
 * has.
 */
const SDK_LOGGER = Symbol.for('langgraph.api.sdk-logger');

/** The levels of the SDK's logger by those of ours. */
const LEVELS = {
  error: ['error'],
  warn: ['warn'],
  info: ['info', 'help', 'data', 'prompt', 'http', 'input'],
  debug: ['debug', 'verbose', 'silly'],
} as const;

/**
 * Gives the agent's own code the logger of the SDK: its lines are the server's, with the arguments as fields.
 */
export function offerLogger(log: Logger): void {
  const offered: Record<string, unknown> = {};
  for (const [level, names] of Object.entries(LEVELS)) {
    const write = (...parts: readonly unknown[]): unknown => {
      const err = parts.find((part) => part instanceof Error);
      const agent: Record<string, unknown> = Object.assign({}, ...parts.filter(isJsonObject));
      const texts = parts.filter((part) => !(part instanceof Error) && !isJsonObject(part)).map(String);
      log[level as keyof typeof LEVELS]({ agent, err }, texts.join(' ') || 'line of the agent');
      return offered;
    };
    for (const name of names) offered[name] = write;
  }
  Object.defineProperty(globalThis, SDK_LOGGER, { value: offered, configurable: true });
}
