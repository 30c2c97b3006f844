/** Report of an agent server to the process that started it, where that asked for reports. */
export type AgentReport =
  /** Its sources compile; sent before they are evaluated. */
  | {
      readonly kind: 'agent-sources';
      /** The agent's own files, absolute. */
      readonly files: readonly string[];
    }
  | {
      readonly kind: 'agent-ready';
      readonly port: number;
      /** Modules of packages that the agent's own files import, as URLs. */
      readonly packages: readonly string[];
    }
  | { readonly kind: 'agent-failed'; readonly reason: string; readonly message: string };

/** A report out of a message of a child; undefined for any other message. */
export function readAgentReport(message: unknown): AgentReport | undefined {
  if (typeof message !== 'object' || message === null || !('kind' in message)) return undefined;
  const { kind } = message;
  return kind === 'agent-sources' || kind === 'agent-ready' || kind === 'agent-failed'
    ? (message as AgentReport) // children are programs of this installation
    : undefined;
}
