/** An event of the stream of a thread. */
export interface WireEvent {
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: { readonly namespace: readonly string[]; readonly data: Record<string, unknown> };
}

/** Whether it is the end of a run, not of a part of it. */
export function endsRun({ method, params: { namespace, data } }: WireEvent): boolean {
  return (
    method === 'lifecycle' &&
    namespace.length === 0 &&
    ['completed', 'failed', 'interrupted'].includes(String(data['event']))
  );
}

/** What each is about: its method, or what became of a run. */
export const namesOf = (events: readonly WireEvent[]): string[] =>
  events.map(({ method, params: { data } }) => (method === 'lifecycle' ? String(data['event']) : method));

/** Commands to threads, and the events of their streams. */
export interface ThreadEvents {
  post(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
  give(threadId: string, method: string, params?: unknown): Promise<Record<string, unknown>>;
  /** Events of a thread until one fits. */
  eventsUntil(threadId: string, request: object, isLast: (event: WireEvent) => boolean): Promise<WireEvent[]>;
}

/** @param urlOf of the server, once it is asked */
export function threadEvents(urlOf: () => string): ThreadEvents {
  const post: ThreadEvents['post'] = async (path, body) => {
    const response = await fetch(`${urlOf()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    post,
    give: async (threadId, method, params) =>
      (await post(`/threads/${threadId}/commands`, { id: 7, method, params })).body,

    async eventsUntil(threadId, request, isLast) {
      const response = await fetch(`${urlOf()}/threads/${threadId}/stream/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify(request),
        signal: AbortSignal.timeout(20_000),
      });
      const found: WireEvent[] = [];
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
          text = text.slice(end + 2);
          if (data === undefined) continue;
          const event = JSON.parse(data) as WireEvent;
          found.push(event);
          if (isLast(event)) return found;
        }
      }
      throw new Error(`the stream ended after ${JSON.stringify(found)}`);
    },
  };
}
