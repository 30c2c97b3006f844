import { z } from 'zod';
import { parseWebhookUrl } from '#lib/outbound';

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
export type ContentPart = z.infer<typeof part>;

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
export type GivenMessage = z.infer<typeof message>;
