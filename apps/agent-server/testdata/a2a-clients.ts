import { randomUUID } from 'node:crypto';
import * as newest from 'a2a-sdk-1/client';
import * as older from 'a2a-sdk-0/client';

export type TestPart =
  | { readonly text: string }
  | { readonly data: Readonly<Record<string, unknown>> }
  /** A picture, as base64. */
  | { readonly picture: string };

/** A task as either client shows it, in the words of 0.3. */
export interface SeenTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  /** Texts of the artifact and of the message of the status. */
  readonly text: string;
  readonly statusText: string;
  /** Files of the artifact, as base64. */
  readonly files: readonly string[];
  /** Ids of questions that wait for answers. */
  readonly questions: readonly string[];
  readonly history: number;
}

export interface SeenStream {
  /** `task submitted`, `status working`, `artifact`, … */
  readonly events: readonly string[];
  /** What the pieces of the artifact make. */
  readonly text: string;
  readonly taskId: string;
}

export interface Said {
  readonly parts: readonly TestPart[];
  readonly contextId?: string;
  readonly taskId?: string;
  readonly isBlocking?: boolean;
  readonly historyLength?: number;
  /** Receiver of notifications about the task. */
  readonly receiver?: string;
}

/** A receiver of notifications, as the methods about it answer. */
export interface SeenReceivers {
  /** Address in the answers of the methods that set, get and list it. */
  readonly urls: readonly string[];
  /** Receivers after its deletion. */
  readonly left: number;
}

/** One official client, as the tests use it. */
export interface A2aTestClient {
  send(said: Said): Promise<SeenTask>;
  stream(said: Said): Promise<SeenStream>;
  get(id: string, historyLength?: number): Promise<SeenTask>;
  cancel(id: string): Promise<SeenTask>;
  subscribe(id: string): Promise<SeenStream>;
  /** Sets, gets, lists and deletes a receiver of notifications. */
  receivers(taskId: string, url: string): Promise<SeenReceivers>;
  /** Description in the extended card. */
  describe(): Promise<string>;
}

interface PlainPart {
  readonly text?: string;
  readonly data?: unknown;
  readonly file?: { readonly bytes?: string };
}

function filesOf(parts: readonly PlainPart[]): string[] {
  return parts.flatMap(({ file }) => file?.bytes ?? []);
}

function textOf(parts: readonly PlainPart[] = []): string {
  return parts.map(({ text }) => text ?? '').join('');
}

function questionsOf(parts: readonly PlainPart[] = []): string[] {
  return parts.flatMap(({ data }) => {
    const { interrupts } = (data ?? {}) as { interrupts?: { id: string }[] };
    return (interrupts ?? []).map(({ id }) => id);
  });
}

/** Folds the pieces of artifacts as their protocol says. */
class Fold {
  readonly events: string[] = [];
  #parts: string[] = [];
  taskId = '';

  artifact(text: string, isAppended: boolean): void {
    this.events.push(isAppended ? 'artifact+' : 'artifact');
    this.#parts = isAppended ? [...this.#parts, text] : [text];
  }

  get seen(): SeenStream {
    return { events: this.events, text: this.#parts.join(''), taskId: this.taskId };
  }
}

type NewPart = Exclude<
  Awaited<ReturnType<newest.Client['getTask']>>['history'][number],
  undefined
>['parts'][number];

function plainOf(parts: readonly NewPart[] = []): PlainPart[] {
  return parts.map(({ content }) =>
    content?.$case === 'text'
      ? { text: content.value }
      : content?.$case === 'data'
        ? { data: content.value as unknown }
        : content?.$case === 'raw'
          ? { file: { bytes: Buffer.from(content.value).toString('base64') } }
          : {},
  );
}

type NewTask = Awaited<ReturnType<newest.Client['getTask']>>;

/** Names of states in the order of the protocol's numbers. */
const STATES = [
  'unknown',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
];

function seenNew({ id, contextId, status, artifacts, history }: NewTask): SeenTask {
  const parts = plainOf(status?.message?.parts);
  return {
    id,
    contextId,
    state: STATES[status?.state ?? 0] ?? '',
    text: textOf(artifacts.flatMap((artifact) => plainOf(artifact.parts))),
    statusText: textOf(parts),
    files: filesOf(artifacts.flatMap((artifact) => plainOf(artifact.parts))),
    questions: questionsOf(parts),
    history: history.length,
  };
}

type Headers = Readonly<Record<string, string>>;

/** `fetch` that sends these headers as well. */
export function fetchWith(more: Headers): typeof fetch {
  return async (input, init) => {
    const headers = new globalThis.Headers(init?.headers);
    for (const [name, value] of Object.entries(more)) headers.set(name, value);
    return fetch(input, { ...init, headers });
  };
}

/** `@a2a-js/sdk` 1.3, with its own wire or with that of 0.3. */
export async function newestClient(
  base: string,
  cardPath: string,
  speaks03: boolean,
  headers?: Headers,
): Promise<A2aTestClient> {
  const options = {
    ...(speaks03 ? { legacyCompat: { enabled: true } } : {}),
    ...(headers ? { fetchImpl: fetchWith(headers) } : {}),
  };
  const resolver = new newest.DefaultAgentCardResolver(options);
  const transports = [new newest.JsonRpcTransportFactory(options)];
  const factory =
    speaks03 || headers
      ? new newest.ClientFactory({ cardResolver: resolver, transports })
      : new newest.ClientFactory();
  const client = await clientOf(factory, base, cardPath, speaks03, headers);
  const pushTo = (taskId: string, url: string) => {
    return { tenant: '', taskId, id: 'receiver', url, token: 'token', authentication: undefined };
  };
  const request = ({
    parts,
    contextId = '',
    taskId = '',
    isBlocking = true,
    historyLength,
    receiver,
  }: Said) => ({
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId,
      taskId,
      role: 1,
      parts: parts.map((part) => ({
        content:
          'text' in part
            ? { $case: 'text' as const, value: part.text }
            : 'data' in part
              ? { $case: 'data' as const, value: part.data }
              : { $case: 'raw' as const, value: Buffer.from(part.picture, 'base64') },
        metadata: undefined,
        filename: '',
        mediaType: 'picture' in part ? 'image/png' : '',
      })),
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: receiver === undefined ? undefined : pushTo('', receiver),
      returnImmediately: !isBlocking,
      ...(historyLength === undefined ? {} : { historyLength }),
    },
    metadata: undefined,
  });
  const fold = async (stream: ReturnType<newest.Client['resubscribeTask']>): Promise<SeenStream> => {
    const folded = new Fold();
    for await (const { payload } of stream) {
      if (payload?.$case === 'task') {
        folded.taskId = payload.value.id;
        folded.events.push(`task ${STATES[payload.value.status?.state ?? 0] ?? ''}`);
      } else if (payload?.$case === 'statusUpdate')
        folded.events.push(`status ${STATES[payload.value.status?.state ?? 0] ?? ''}`);
      else if (payload?.$case === 'artifactUpdate')
        folded.artifact(textOf(plainOf(payload.value.artifact?.parts)), payload.value.append);
    }
    return folded.seen;
  };
  return {
    async send(said) {
      const result = await client.sendMessage(request(said));
      if (!('status' in result)) throw new Error('a message instead of a task');
      return seenNew(result);
    },
    stream: (said) => fold(client.sendMessageStream(request(said))),
    async get(id, historyLength) {
      return seenNew(
        await client.getTask({ tenant: '', id, ...(historyLength === undefined ? {} : { historyLength }) }),
      );
    },
    async cancel(id) {
      return seenNew(await client.cancelTask({ tenant: '', id, metadata: undefined }));
    },
    subscribe: (id) => fold(client.resubscribeTask({ tenant: '', id })),
    async receivers(taskId, url) {
      const name = { tenant: '', taskId, id: 'receiver' };
      const set = await client.createTaskPushNotificationConfig(pushTo(taskId, url));
      const got = await client.getTaskPushNotificationConfig(name);
      const all = { tenant: '', taskId, pageSize: 0, pageToken: '' };
      const { configs } = await client.listTaskPushNotificationConfig(all);
      await client.deleteTaskPushNotificationConfig(name);
      const { configs: left } = await client.listTaskPushNotificationConfig(all);
      return { urls: [set, got, ...configs].map((config) => config.url), left: left.length };
    },
    async describe() {
      return (await client.getAgentCard()).description;
    },
  };
}

/** The wire of 0.3 is chosen for cards that have no other: such a card is made of the one that is served. */
async function clientOf(
  factory: newest.ClientFactory,
  base: string,
  cardPath: string,
  speaks03: boolean,
  headers: Headers = {},
): Promise<newest.Client> {
  if (!speaks03) return factory.createFromUrl(base, cardPath);
  const card = (await (await fetch(new URL(cardPath, base), { headers })).json()) as Record<string, unknown>;
  const { supportedInterfaces: _, ...legacy } = card;
  return factory.createFromAgentCard(legacy as never);
}

type OldTask = Awaited<ReturnType<older.Client['getTask']>>;

function seenOld({ id, contextId, status, artifacts, history }: OldTask): SeenTask {
  const parts = status.message?.parts as PlainPart[] | undefined;
  return {
    id,
    contextId,
    state: status.state,
    text: textOf((artifacts ?? []).flatMap((artifact) => artifact.parts as PlainPart[])),
    statusText: textOf(parts),
    files: filesOf((artifacts ?? []).flatMap((artifact) => artifact.parts as PlainPart[])),
    questions: questionsOf(parts),
    history: history?.length ?? 0,
  };
}

/** `@a2a-js/sdk` 0.3. */
export async function olderClient(base: string, cardPath: string, headers?: Headers): Promise<A2aTestClient> {
  const options = { fetchImpl: fetchWith(headers ?? {}) };
  const factory = headers
    ? new older.ClientFactory({
        cardResolver: new older.DefaultAgentCardResolver(options),
        transports: [new older.JsonRpcTransportFactory(options)],
      })
    : new older.ClientFactory();
  const client = await factory.createFromUrl(base, cardPath);
  const request = ({ parts, contextId, taskId, isBlocking = true, historyLength, receiver }: Said) => ({
    message: {
      kind: 'message' as const,
      messageId: randomUUID(),
      role: 'user' as const,
      parts: parts.map((part) =>
        'text' in part
          ? { kind: 'text' as const, text: part.text }
          : 'data' in part
            ? { kind: 'data' as const, data: { ...part.data } }
            : { kind: 'file' as const, file: { bytes: part.picture, mimeType: 'image/png' } },
      ),
      ...(contextId === undefined ? {} : { contextId }),
      ...(taskId === undefined ? {} : { taskId }),
    },
    configuration: {
      blocking: isBlocking,
      ...(historyLength === undefined ? {} : { historyLength }),
      ...(receiver === undefined ? {} : { pushNotificationConfig: { url: receiver, token: 'token' } }),
    },
  });
  const fold = async (stream: ReturnType<older.Client['resubscribeTask']>): Promise<SeenStream> => {
    const folded = new Fold();
    for await (const event of stream) {
      if (event.kind === 'task') {
        folded.taskId = event.id;
        folded.events.push(`task ${event.status.state}`);
      } else if (event.kind === 'status-update')
        folded.events.push(`status ${event.status.state}${event.final ? ' final' : ''}`);
      else if (event.kind === 'artifact-update')
        folded.artifact(textOf(event.artifact.parts as PlainPart[]), event.append ?? false);
    }
    return folded.seen;
  };
  return {
    async send(said) {
      const result = await client.sendMessage(request(said));
      if (result.kind !== 'task') throw new Error('a message instead of a task');
      return seenOld(result);
    },
    stream: (said) => fold(client.sendMessageStream(request(said))),
    async get(id, historyLength) {
      return seenOld(await client.getTask({ id, ...(historyLength === undefined ? {} : { historyLength }) }));
    },
    async cancel(id) {
      return seenOld(await client.cancelTask({ id }));
    },
    subscribe: (id) => fold(client.resubscribeTask({ id })),
    async receivers(taskId, url) {
      const pushNotificationConfig = { id: 'receiver', url, token: 'token' };
      const name = { id: taskId, pushNotificationConfigId: 'receiver' };
      const set = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig });
      const got = await client.getTaskPushNotificationConfig(name);
      const all = await client.listTaskPushNotificationConfig({ id: taskId });
      await client.deleteTaskPushNotificationConfig(name);
      const left = await client.listTaskPushNotificationConfig({ id: taskId });
      const urls = [set, got, ...all].map((config) => config.pushNotificationConfig.url);
      return { urls, left: left.length };
    },
    async describe() {
      return (await client.getAgentCard()).description;
    },
  };
}
