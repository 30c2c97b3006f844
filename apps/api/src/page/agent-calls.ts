import type { OnModuleDestroy } from '@nestjs/common';
import type { Assistant, Client, Thread, ThreadState } from '@langchain/langgraph-sdk';
import { Admission } from '#lib/admission';
import {
  assistantOfThread,
  assistantsOf,
  beginThread,
  Conversation,
  newestThreads,
  type Question,
  questionsOf,
  refusalWords,
  type ThreadValues,
} from '#lib/conversation';
import { errorText, PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { AddressGuard, agentFetch } from '#lib/outbound';
import type { AgentDeployment } from '#lib/resources';
import type { Clock } from '#lib/time';
import { wireName } from '../deployment/render-deployment.js';
import type { AgentRoutes } from '../route/agent-routes.js';
import type { PageReader } from './page-readers.js';

/** A thread as it stands. */
export interface OpenThread {
  readonly thread: Thread<ThreadValues>;
  readonly values: ThreadValues;
  readonly questions: readonly Question[];
}

/** Threads of an agent; or words about why they cannot be read. */
export type ThreadList =
  | {
      readonly kind: 'threads';
      readonly threads: readonly Thread<ThreadValues>[];
      readonly assistants: readonly Assistant[];
    }
  | { readonly kind: 'unreachable'; readonly problem: string };

const MAX_READ_BYTES = 8 * 1_048_576;
/** Talks and reads at once, of all and of one workspace. */
const AT_ONCE = { capacity: 200, perOwner: 40 };
/** Answers that are read as a whole at once; others wait for their turn. */
const READS_AT_ONCE = { capacity: 64, perOwner: 8 };
const THREADS = 50;
const ELSEWHERE = 'it runs in another cluster, and its listener has not reported an address';
const NOT_SERVING = 'it does not serve yet';

export interface AgentCallsParts {
  readonly routes: Pick<AgentRoutes, 'targetOf'>;
  readonly clock: Clock;
  /** True lets agents of other clusters have private addresses. */
  readonly allowPrivate: boolean;
}

/** Calls of agents on behalf of people who signed in to pages. */
export class AgentCalls implements OnModuleDestroy {
  /** Ends all calls when the api stops: its server waits for the answers that they are for. */
  readonly #stopping = new AbortController();
  readonly #open = new Admission({
    ...AT_ONCE,
    refusal: 'Calling the agent failed: as many talks are open as may be; retry in a moment',
  });
  readonly #reads = new Admission(READS_AT_ONCE);

  constructor(private readonly parts: AgentCallsParts) {}

  onModuleDestroy(): void {
    this.#stopping.abort(new Error('this server stops; load the page again'));
  }

  /** Threads that changed last. An agent that does not answer is no error: its deployment is shown all the same. */
  async threadsOf(
    deployment: AgentDeployment,
    reader: PageReader,
    hold: (bytes: number) => void,
  ): Promise<ThreadList> {
    try {
      // one after the other: each answer may be as large as a page can show
      return await this.#read(deployment, reader, hold, async (client) => ({
        kind: 'threads',
        threads: await newestThreads(client, THREADS),
        assistants: await assistantsOf(client),
      }));
    } catch (error) {
      if (!(error instanceof PublicError)) throw error;
      return { kind: 'unreachable', problem: error.message };
    }
  }

  /** @throws PublicError not_found, unavailable */
  async threadOf(
    deployment: AgentDeployment,
    id: string,
    reader: PageReader,
    hold: (bytes: number) => void,
  ): Promise<OpenThread> {
    return await this.#read(deployment, reader, hold, async (client) => {
      const thread = await client.threads.get<ThreadValues>(id);
      const state: ThreadState<ThreadValues> = await client.threads.getState<ThreadValues>(id);
      return { thread, values: state.values, questions: questionsOf(state.tasks) };
    });
  }

  /**
   * Begins a thread with an assistant; with the agent's first graph when none is named.
   * @returns its id. @throws PublicError not_found, unavailable
   */
  async begin(deployment: AgentDeployment, reader: PageReader, assistant: string): Promise<string> {
    return await this.#call(deployment, reader, (client) => beginThread(client, assistant));
  }

  /**
   * Performs a talk in a thread; the run continues when the talk is left.
   * @throws PublicError unavailable, too_many
   */
  async talk<T>(
    deployment: AgentDeployment,
    threadId: string,
    reader: PageReader,
    perform: (conversation: Conversation) => Promise<T>,
  ): Promise<T> {
    return await this.#call(deployment, reader, async (client) => {
      const { clock } = this.parts;
      const talk = { client, clock, threadId, assistantId: await assistantOfThread(client, threadId) };
      return await perform(new Conversation({ ...talk, findRun: undefined, onDisconnect: 'continue' }));
    });
  }

  async #read<T>(
    deployment: AgentDeployment,
    reader: PageReader,
    hold: (bytes: number) => void,
    read: (client: Client) => Promise<T>,
  ): Promise<T> {
    // the answer as text, and the values that are parsed of it
    hold(2 * MAX_READ_BYTES);
    return await this.#call(deployment, reader, read);
  }

  async #call<T>(
    deployment: AgentDeployment,
    reader: PageReader,
    call: (client: Client) => Promise<T>,
  ): Promise<T> {
    const place = this.#open.require(reader.caller.tenantId);
    try {
      return await call(await this.#clientOf(deployment, reader));
    } catch (error) {
      throw problemOf(wireName(deployment), error);
    } finally {
      place.release();
    }
  }

  async #clientOf(
    deployment: AgentDeployment,
    { agentToken, caller: { tenantId } }: PageReader,
  ): Promise<Client> {
    // takes a moment to load, and most pages do without
    const { Client: SdkClient } = await import('@langchain/langgraph-sdk');
    const { address, allowPrivate } = this.#placeOf(deployment);
    const guard = new AddressGuard({
      allowPrivate,
      refuse: () => new Error('its address is one that may not be called'),
    });
    return new SdkClient({
      apiUrl: address,
      apiKey: agentToken(wireName(deployment)),
      // agents that authenticate by themselves take a person with a key of the workspace for a studio
      defaultHeaders: { 'x-auth-scheme': 'langsmith' },
      callerOptions: {
        maxRetries: 0,
        fetch: this.#endingFetch(agentFetch({ guard, reads: this.#reads, owner: tenantId })),
      },
    });
  }

  #endingFetch(send: typeof fetch): typeof fetch {
    const { signal } = this.#stopping;
    return (input, init) =>
      send(input, { ...init, signal: AbortSignal.any(init?.signal ? [signal, init.signal] : [signal]) });
  }

  #placeOf(deployment: AgentDeployment): { readonly address: string; readonly allowPrivate: boolean } {
    const target = this.parts.routes.targetOf(deployment);
    const address = target.kind === 'elsewhere' ? deployment.status?.url : target.address;
    if (address === undefined) throw new Error(target.kind === 'elsewhere' ? ELSEWHERE : NOT_SERVING);
    return { address, allowPrivate: target.kind === 'deployment' || this.parts.allowPrivate };
  }
}

/** Refusals of an agent, and its silence, in words of this api. */
function problemOf(name: string, error: unknown): PublicError {
  if (error instanceof PublicError) return error;
  const status: unknown = isJsonObject(error) ? error['status'] : undefined;
  const text: unknown = isJsonObject(error) ? error['text'] : undefined;
  if (typeof status !== 'number')
    return new PublicError('unavailable', `Calling the agent ${name} failed: ${errorText(error)}`, [], {
      cause: error,
    });
  const words = refusalWords(typeof text === 'string' ? text : '');
  const code = status === 404 ? 'not_found' : status < 500 ? 'conflict' : 'unavailable';
  return new PublicError(code, `The agent ${name} answered ${status}${words === '' ? '' : `: ${words}`}`);
}
