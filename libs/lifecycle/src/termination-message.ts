/** Exit code of an agent server whose agent cannot be loaded: starting it again cannot help. */
export const EXIT_GRAPH_LOAD_FAILED = 78;

/** Kubernetes cuts termination messages at 4096 bytes. */
const MAX_MESSAGE_CHARS = 3_000;

/** Why a container ended, as it leaves it for the node. */
export interface TerminationMessage {
  readonly reason: string;
  readonly message: string;
}

export function formatTerminationMessage({ reason, message }: TerminationMessage): string {
  return JSON.stringify({ reason, message: message.slice(0, MAX_MESSAGE_CHARS) });
}

/** The message of a container that ended: a plain text, of programs that know no more, is a message too. */
export function readTerminationMessage(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    const message: unknown =
      typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'message') : undefined;
    if (typeof message === 'string') return message;
  } catch {
    // not JSON
  }
  return text;
}
