import { PLATFORM_VERSION } from '#lib/config';
import { isJsonObject, type JsonObject } from '#lib/json';
import { isUuid } from '#lib/resources';
import { systemClock } from '#lib/time';
import { Conversation } from '#lib/conversation';
import { type Agent, type AgentFlags, assistantOf, openAgent } from '../chat/agent-client.js';
import { CODE, JsonRpcLines, RpcError } from './json-rpc-lines.js';
import { Session } from './session.js';

export interface AcpFlags extends AgentFlags {
  readonly graph: string | undefined;
}

/** Version 1 of the protocol; editors that want another one end the connection. */
const PROTOCOL_VERSION = 1;

/** `agentplane acp NAME`: an agent for editors, by the Agent Client Protocol on standard input and output. */
export async function acp(name: string | undefined, flags: AcpFlags): Promise<void> {
  const agent = await openAgent(name, flags);
  const bridge = new AcpBridge(agent, await assistantOf(agent, flags.graph));
  await bridge.serve();
}

class AcpBridge {
  readonly #sessions = new Map<string, Session>();
  readonly #editor = new JsonRpcLines(process.stdout, (method, params) => this.#perform(method, params));

  constructor(
    private readonly agent: Agent,
    private readonly assistantId: string,
  ) {}

  /** Serves until the editor closes the input; runs at work are ended then. */
  async serve(): Promise<void> {
    await this.#editor.read(process.stdin);
    for (const session of this.#sessions.values()) session.cancel();
  }

  async #perform(method: string, params: JsonObject): Promise<JsonObject> {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: PROTOCOL_VERSION,
          agentInfo: { name: 'agentplane', title: this.agent.words, version: PLATFORM_VERSION },
          agentCapabilities: {
            loadSession: true,
            promptCapabilities: { image: true, audio: true, embeddedContext: true },
          },
          authMethods: [],
        };
      case 'session/new': {
        nameIgnored(params);
        const { thread_id: id } = await this.agent.client.threads.create();
        return { sessionId: this.#open(id).id };
      }
      case 'session/load':
        nameIgnored(params);
        return this.#load(params);
      case 'session/prompt':
        return this.#sessionOf(params).prompt(params['prompt']);
      case 'session/cancel':
        this.#sessionOf(params).cancel();
        return {};
      default:
        throw new RpcError(CODE.methodNotFound, `method ${method.slice(0, 100)} is not known`);
    }
  }

  #open(threadId: string): Session {
    const { client } = this.agent;
    const { assistantId } = this;
    // editors show no traces: nothing waits for them
    const parts = { client, findRun: undefined, clock: systemClock, assistantId, threadId };
    const session = new Session(new Conversation({ ...parts, onDisconnect: 'cancel' }), this.#editor);
    this.#sessions.set(threadId, session);
    return session;
  }

  async #load({ sessionId }: JsonObject): Promise<JsonObject> {
    const state =
      typeof sessionId === 'string' && isUuid(sessionId)
        ? await this.agent.client.threads.getState(sessionId).catch(() => undefined)
        : undefined;
    if (!state || typeof sessionId !== 'string')
      throw new RpcError(CODE.resourceNotFound, `session ${String(sessionId).slice(0, 100)} does not exist`);
    const { values } = state;
    const messages = isJsonObject(values) ? values['messages'] : undefined;
    this.#open(sessionId).replay(Array.isArray(messages) ? messages : []);
    return {};
  }

  #sessionOf({ sessionId }: JsonObject): Session {
    const session = typeof sessionId === 'string' ? this.#sessions.get(sessionId) : undefined;
    if (session) return session;
    throw new RpcError(CODE.resourceNotFound, `session ${String(sessionId).slice(0, 100)} does not exist`);
  }
}

/** An agent runs elsewhere: it has neither the editor's folder nor its servers of tools. */
function nameIgnored({ mcpServers }: JsonObject): void {
  if (Array.isArray(mcpServers) && mcpServers.length > 0)
    process.stderr.write(
      `${mcpServers.length} MCP servers of the editor are ignored: the agent has its own tools\n`,
    );
}
