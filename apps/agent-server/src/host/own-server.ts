/**
 * Symbol under which `new Client()` of `@langchain/langgraph-sdk` finds its server, for every copy of it that
 * an agent has.
 */
const SDK_FETCH = Symbol.for('langgraph_api:fetch');
const SDK_URL = Symbol.for('langgraph_api:url');

/**
 * Placeholder for the address of the agent's own server: clients are often made before its port is known. No
 * name service resolves it.
 */
const PLACEHOLDER = 'http://own-server.agent.invalid';

/**
 * Lets clients of the SDK that are made without an address reach the server of this agent. They show the key that they
 * are given, or the deployment's own, which the SDK finds in the environment.
 */
export class OwnServer {
  readonly #url = Promise.withResolvers<string>();

  constructor() {
    const reach = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const address = input instanceof Request ? input.url : String(input);
      if (!address.startsWith(PLACEHOLDER)) return fetch(input, init);
      const url = (await this.#url.promise) + address.slice(PLACEHOLDER.length);
      return fetch(input instanceof Request ? new Request(url, input) : url, init);
    };
    Object.defineProperty(globalThis, SDK_FETCH, { value: reach, configurable: true });
    Object.defineProperty(globalThis, SDK_URL, { value: PLACEHOLDER, configurable: true });
  }

  /** Resolves once it is known. */
  get url(): Promise<string> {
    return this.#url.promise;
  }

  /** @param url with the prefix under which the server is mounted */
  serves(url: string): void {
    this.#url.resolve(url);
  }
}
