import { z } from 'zod';
import type { JsonObject } from '#lib/json';
import { parseWebhookUrl } from '#lib/outbound';
import { invalidParam, A2aError } from './envelope.js';
import { MAX_NAMES } from '../run/requested-run.js';
import { name, optionalName, parse, record, text, withJsonNames } from './parameter-shapes.js';
import { inlinePush03, inlinePush10, type PushTarget } from './push-parameters.js';
import { isTaskState, type MessageHead, type Part } from './task.js';

/** A message that a client sends. */
export interface SentMessage extends MessageHead {
  readonly parts: readonly Part[];
  readonly contextId: string | undefined;
  readonly taskId: string | undefined;
}

export interface SendParameters {
  readonly message: SentMessage;
  readonly metadata: JsonObject | undefined;
  /** Receiver of notifications about the task. */
  readonly push: PushTarget | undefined;
  /** Answer once the task has come to an end or asks for input; otherwise as soon as it is made. */
  readonly isBlocking: boolean;
  readonly historyLength: number | undefined;
  readonly historyScope: HistoryScope;
}

/** Messages that a history has: those of the task, or all of its context. */
export type HistoryScope = 'task' | 'context';

export interface TaskParameters {
  readonly id: string;
  readonly contextId: string | undefined;
  readonly historyLength: number | undefined;
  readonly historyScope: HistoryScope;
}

export interface ListParameters {
  readonly contextId: string | undefined;
  /** State by its name of 0.3. */
  readonly state: string | undefined;
  readonly since: Date | undefined;
  readonly pageSize: number;
  readonly pageToken: string | undefined;
  readonly historyLength: number;
  readonly hasArtifacts: boolean;
}

const MAX_PAGE = 100;
const PAGE = 50;

const historyLength = z
  .int()
  .min(0)
  .nullish()
  .transform((given) => given ?? undefined);
const historyScope = z
  .enum(['task', 'context'])
  .nullish()
  .transform((given) => given ?? 'task');
const names = z
  .array(name)
  .max(32, 'must not have more than 32 entries')
  .nullish()
  .transform((given) => (given && given.length > 0 ? given : undefined));

const messageHead = {
  messageId: text.min(1, 'must not be empty'),
  contextId: optionalName,
  taskId: optionalName,
  metadata: record.nullish(),
  extensions: names,
  referenceTaskIds: names,
};
/** Limit per message. */
const MAX_PARTS = 1_000;
const parts = <T extends z.ZodType>(part: T) =>
  z
    .array(part)
    .min(1, 'must have at least one part')
    .max(MAX_PARTS, `must not have more than ${MAX_PARTS} parts`);

const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/_-]+={0,2}$/, 'must be base64')
  .transform((given) => given.replaceAll('-', '+').replaceAll('_', '/'));
/** An address that is passed on; the host is judged elsewhere. */
const fileUrl = z
  .string()
  .max(2_048, 'must not be longer than 2048 characters')
  .refine((given) => typeof parseWebhookUrl(given, '') !== 'string', {
    error: 'must be an http or https URL without a user name',
  });
const fileNames = { name: optionalName, mimeType: optionalName };

const part03 = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('text'), text: z.string() }),
  z.looseObject({ kind: z.literal('data'), data: record }),
  z.looseObject({
    kind: z.literal('file'),
    file: z
      .looseObject({ bytes: base64.optional(), uri: fileUrl.optional(), ...fileNames })
      .refine(({ bytes, uri }) => hasOne(bytes, uri), 'must have exactly one of bytes and uri'),
  }),
]);
const part10 = z
  .looseObject({
    text: z.string().optional(),
    data: record.optional(),
    raw: base64.optional(),
    url: fileUrl.optional(),
    mediaType: optionalName,
    filename: optionalName,
  })
  .refine(
    ({ text: said, data, raw, url }) => hasOne(said, data, raw, url),
    'must have exactly one of text, data, raw and url',
  );

function hasOne(...given: readonly unknown[]): boolean {
  return given.filter((member) => member !== undefined).length === 1;
}

function partOf03(part: z.infer<typeof part03>): Part {
  if (part.kind === 'text') return { kind: 'text', text: part.text };
  if (part.kind === 'data') return { kind: 'data', data: part.data };
  const { bytes, uri, mimeType, name: filename } = part.file;
  return filePart(bytes, uri, mimeType, filename);
}

function partOf10({ text: said, data, raw, url, mediaType, filename }: z.infer<typeof part10>): Part {
  if (said !== undefined) return { kind: 'text', text: said };
  return data === undefined ? filePart(raw, url, mediaType, filename) : { kind: 'data', data };
}

function filePart(
  bytes: string | undefined,
  url: string | undefined,
  mediaType: string | undefined,
  filename: string | undefined,
): Part {
  return {
    kind: 'file',
    ...(bytes === undefined ? {} : { bytes }),
    ...(url === undefined ? {} : { url }),
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(filename === undefined ? {} : { name: filename }),
  };
}

const configuration = {
  acceptedOutputModes: z.array(text).max(MAX_NAMES).nullish(),
  historyLength,
  historyScope,
};
const send03 = z.looseObject({
  message: z.looseObject({
    ...messageHead,
    kind: z.literal('message').nullish(),
    role: z.literal('user'),
    parts: parts(part03),
  }),
  configuration: z
    .looseObject({
      ...configuration,
      blocking: z.boolean().nullish(),
      pushNotificationConfig: inlinePush03,
    })
    .nullish(),
  metadata: record.nullish(),
});
const send10 = z.looseObject({
  tenant: z.literal('').nullish(),
  message: z.looseObject({ ...messageHead, role: z.literal('ROLE_USER'), parts: parts(part10) }),
  configuration: z
    .looseObject({
      ...configuration,
      returnImmediately: z.boolean().nullish(),
      taskPushNotificationConfig: inlinePush10,
    })
    .nullish(),
  metadata: record.nullish(),
});
const task = z.looseObject({
  tenant: z.literal('').nullish(),
  id: text.min(1, 'must not be empty'),
  contextId: optionalName,
  historyLength,
  historyScope,
});
const list = z.looseObject({
  tenant: z.literal('').nullish(),
  contextId: optionalName,
  status: text.nullish(),
  pageSize: z.int().min(1).max(MAX_PAGE).nullish(),
  pageToken: text.nullish(),
  historyLength,
  historyScope: z.literal('task', 'must be task; GetTask reads the history of a context').nullish(),
  statusTimestampAfter: z.iso.datetime({ offset: true }).nullish(),
  includeArtifacts: z.boolean().nullish(),
});

function refuseOutputModes(modes: readonly string[] | null | undefined): void {
  const isFine =
    !modes || modes.length === 0 || modes.some((mode) => /^(\*\/\*|text(\/(plain|\*))?)$/.test(mode));
  if (!isFine)
    throw new A2aError(
      'contentTypeNotSupported',
      'This agent answers text/plain, which acceptedOutputModes does not allow',
    );
}

function sentMessage({
  messageId,
  contextId,
  taskId,
  metadata,
  extensions,
  referenceTaskIds,
  parts: given,
}: z.infer<z.ZodObject<typeof messageHead>> & { readonly parts: readonly Part[] }): SentMessage {
  return {
    messageId,
    contextId,
    taskId,
    parts: given,
    ...(metadata ? { metadata } : {}),
    ...(extensions ? { extensions } : {}),
    ...(referenceTaskIds ? { referenceTaskIds } : {}),
  };
}

/** Parameters of `message/send` and `message/stream`. @throws A2aError */
export function parseSend03(given: unknown): SendParameters {
  const { message, configuration: wanted, metadata } = parse(send03, given);
  refuseOutputModes(wanted?.acceptedOutputModes);
  return {
    message: sentMessage({ ...message, parts: message.parts.map(partOf03) }),
    metadata: metadata ?? undefined,
    push: wanted?.pushNotificationConfig,
    isBlocking: wanted?.blocking ?? true,
    historyLength: wanted?.historyLength,
    historyScope: wanted?.historyScope ?? 'task',
  };
}

/** Parameters of `SendMessage` and `SendStreamingMessage`. @throws A2aError */
export function parseSend10(given: unknown): SendParameters {
  const { message, configuration: wanted, metadata } = parse(send10, withJsonNames(given));
  refuseOutputModes(wanted?.acceptedOutputModes);
  return {
    message: sentMessage({ ...message, parts: message.parts.map(partOf10) }),
    metadata: metadata ?? undefined,
    push: wanted?.taskPushNotificationConfig,
    isBlocking: !(wanted?.returnImmediately ?? false),
    historyLength: wanted?.historyLength,
    historyScope: wanted?.historyScope ?? 'task',
  };
}

/** Parameters of every method that names one task. @throws A2aError */
export function parseTask(given: unknown): TaskParameters {
  const { id, contextId, historyLength: length, historyScope: scope } = parse(task, withJsonNames(given));
  return { id, contextId, historyLength: length, historyScope: scope };
}

/** Parameters of `ListTasks`. @throws A2aError */
export function parseList(given: unknown): ListParameters {
  const found = parse(list, withJsonNames(given));
  return {
    contextId: found.contextId,
    state: stateOf(found.status),
    since: found.statusTimestampAfter ? new Date(found.statusTimestampAfter) : undefined,
    pageSize: found.pageSize ?? PAGE,
    pageToken: found.pageToken || undefined,
    historyLength: found.historyLength ?? 0,
    hasArtifacts: found.includeArtifacts ?? false,
  };
}

/** `TASK_STATE_INPUT_REQUIRED` by its name of 0.3. */
function stateOf(status: string | null | undefined): string | undefined {
  if (!status || status === 'TASK_STATE_UNSPECIFIED') return undefined;
  const state = status
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
  if (!status.startsWith('TASK_STATE_') || !isTaskState(state))
    throw invalidParam('status', 'must be a state of a task, for example TASK_STATE_COMPLETED');
  return state;
}
