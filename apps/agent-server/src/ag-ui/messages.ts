import { z } from 'zod';
import { parseWebhookUrl } from '#lib/outbound';
import { isJsonObject, type JsonObject, parseShort } from '#lib/json';
import { contentText } from '../a2a/answer-text.js';
import { blockOfFile, fileOfBlock, type FilePart } from '../a2a/files.js';

/** Ids that pages choose. */
export const id = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\u0000]*$/, 'must not hold a NUL character');
const url = z
  .string()
  .max(2_048)
  .refine((given) => typeof parseWebhookUrl(given, '') !== 'string', {
    error: 'must be an http or https URL without a user name',
  });
const mimeType = z.string().max(255).nullish();

const source = z.discriminatedUnion('type', [
  z.object({ type: z.literal('data'), value: z.string(), mimeType }),
  z.object({ type: z.literal('url'), value: url, mimeType }),
]);
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio', 'video', 'document']), source }),
]);
/** A part of its content. */
type ContentPart = z.infer<typeof part>;

const toolCall = z.object({ id, function: z.object({ name: z.string().max(255), arguments: z.string() }) });
const content = z.union([z.string(), z.array(part).max(1_000)]).nullish();
const said = z.object({
  id,
  role: z.enum(['user', 'assistant', 'system', 'developer', 'tool']),
  content,
  name: z.string().max(255).nullish(),
  toolCalls: z.array(toolCall).max(1_000).nullish(),
  toolCallId: id.nullish(),
});
/** Messages that only pages show have contents of their own. */
const shown = z.object({ id, role: z.enum(['reasoning', 'activity']) }).transform((message) => ({
  ...message,
  content: undefined,
  name: undefined,
  toolCalls: undefined,
  toolCallId: undefined,
}));
export const message = z.union([said, shown]);
/** A message as a page sends it. */
type GivenMessage = z.infer<typeof message>;

/** Arguments of a call of a tool, as text, are parsed up to this length. */
const MAX_ARGUMENTS_CHARS = 1024 * 1024;

function filePart({ source }: Exclude<ContentPart, { type: 'text' }>): FilePart {
  const place = source.type === 'data' ? { bytes: source.value } : { url: source.value };
  return { kind: 'file', ...place, ...(source.mimeType ? { mediaType: source.mimeType } : {}) };
}

/** Files of messages, for the check of their addresses. */
export function filesOf(messages: readonly GivenMessage[]): readonly FilePart[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((part) => (part.type === 'text' ? [] : [filePart(part)])) : [],
  );
}

function blocksOf(content: GivenMessage['content']): string | readonly JsonObject[] {
  if (!Array.isArray(content)) return content ?? '';
  return content.map((part): JsonObject =>
    part.type === 'text' ? { type: 'text', text: part.text } : blockOfFile(filePart(part)),
  );
}

function argumentsOf(text: string): JsonObject {
  const given = parseShort(text || '{}', MAX_ARGUMENTS_CHARS);
  return isJsonObject(given) ? given : {};
}

/** A message as graphs take it; undefined for what only pages show, reasoning and activities. */
export function graphMessageOf({
  id,
  role,
  content,
  toolCalls,
  toolCallId,
  name,
}: GivenMessage): JsonObject | undefined {
  const head = { id, content: blocksOf(content), ...(name ? { name } : {}) };
  switch (role) {
    case 'user':
      return { role: 'user', ...head };
    case 'system':
    case 'developer':
      return { role: 'system', ...head };
    case 'tool':
      return { role: 'tool', ...head, tool_call_id: toolCallId };
    case 'assistant': {
      const calls = toolCalls?.map(({ id: call, function: called }) => ({
        id: call,
        name: called.name,
        args: argumentsOf(called.arguments),
        type: 'tool_call',
      }));
      return { role: 'assistant', ...head, ...(calls && calls.length > 0 ? { tool_calls: calls } : {}) };
    }
    case 'reasoning':
    case 'activity':
      return undefined;
    default:
      return role satisfies never;
  }
}

const ROLES: ReadonlyMap<unknown, string> = new Map([
  ['human', 'user'],
  ['user', 'user'],
  ['ai', 'assistant'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['tool', 'tool'],
]);

/** Calls of tools in a message of a state. */
export function toolCallsOf(message: JsonObject): readonly JsonObject[] {
  const { tool_calls: calls } = message;
  return Array.isArray(calls) ? calls.filter(isJsonObject) : [];
}

function partsOf(content: unknown): string | readonly JsonObject[] {
  if (!Array.isArray(content) || !content.some((block) => fileOfBlock(block))) return contentText(content);
  return content.flatMap((block: unknown): JsonObject[] => {
    const file = fileOfBlock(block);
    if (!file) return [{ type: 'text', text: contentText([block]) }];
    const { bytes, url, mediaType = 'application/octet-stream' } = file;
    const [kind = ''] = mediaType.split('/', 1);
    const source =
      bytes === undefined
        ? { type: 'url', value: url, mimeType: mediaType }
        : { type: 'data', value: bytes, mimeType: mediaType };
    return [{ type: ['image', 'audio', 'video'].includes(kind) ? kind : 'document', source }];
  });
}

/** A message of a state as pages read it; undefined for kinds that the protocol does not have. */
export function pageMessageOf(message: unknown, at: number): JsonObject | undefined {
  if (!isJsonObject(message)) return undefined;
  const role = ROLES.get(message['type'] ?? message['role']);
  if (role === undefined) return undefined;
  const { id, content, tool_call_id: toolCallId } = message;
  const head = { id: typeof id === 'string' ? id : `message-${at}`, role };
  if (role === 'user') return { ...head, content: partsOf(content) };
  if (role === 'tool') return { ...head, content: partsOf(content), toolCallId };
  const calls = toolCallsOf(message).map(({ id: call, name, args }) => ({
    id: call,
    type: 'function',
    function: { name, arguments: JSON.stringify(args ?? {}) },
  }));
  return { ...head, content: contentText(content), ...(calls.length > 0 ? { toolCalls: calls } : {}) };
}
