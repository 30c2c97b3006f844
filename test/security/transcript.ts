/** An answer as it came, in full. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface HttpRequest {
  readonly key?: string | undefined;
  readonly tenant?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** A good answer has no end: its beginning is enough. */
  readonly isLasting?: boolean;
}

/** Every answer that the attacks collected, to be searched for secrets at the end. */
export class Transcript {
  readonly #answers: { readonly place: string; readonly text: string }[] = [];

  add(place: string, text: string): void {
    this.#answers.push({ place, text });
  }

  /** Calls a server and keeps its answer, headers included. */
  async call(method: string, url: string, request: HttpRequest = {}): Promise<HttpAnswer> {
    const { key, tenant, body, headers, isLasting } = request;
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    });
    const isEndless = isLasting === true && answer.ok;
    if (isEndless) await answer.body?.cancel();
    const text = isEndless ? '' : await answer.text();
    const head = Object.fromEntries(answer.headers);
    this.add(`${method} ${url}`, `${JSON.stringify(head)}\n${text}`);
    return { status: answer.status, headers: head, text };
  }

  get size(): number {
    return this.#answers.length;
  }

  /** Where each of the words stands, by the words' names. */
  find(words: Readonly<Record<string, string>>): readonly string[] {
    return this.#answers.flatMap(({ place, text }) =>
      Object.entries(words).flatMap(([name, word]) => (text.includes(word) ? [`${name} in ${place}`] : [])),
    );
  }
}
