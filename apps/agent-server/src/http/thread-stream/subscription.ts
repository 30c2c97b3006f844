import { z } from 'zod';
import type { EventAddress } from '../../stream/thread-protocol.js';
import { isChannel } from '../../stream/thread-protocol.js';

const namespace = z.array(z.string().max(1_000)).max(100);

/** Which events of a thread a reader wants. */
const subscription = z.strictObject({
  channels: z
    .array(z.string().refine(isChannel, 'is not a channel of the thread stream protocol'))
    .min(1)
    .max(100),
  /** Events below one of these; all without any. */
  namespaces: z.array(namespace).max(1_000).nullish(),
  /** Levels below the namespace. */
  depth: z.int().min(0).nullish(),
});

/** The same over HTTP: only what comes after the number `since`. */
export const eventRequest = subscription.extend({ since: z.int().min(0).nullish() });

export type Subscription = z.infer<typeof subscription>;

/** Segments of a graph have a suffix for each of their runs: `name:id`; a prefix may leave it out. */
function isSegment(segment: string | undefined, wanted: string): boolean {
  return segment === wanted || (!wanted.includes(':') && segment?.split(':', 1)[0] === wanted);
}

/** Whether an event is wanted. */
export function isWanted(
  { channels, namespaces, depth }: Subscription,
  { channel, namespace: at }: EventAddress,
): boolean {
  const isOfChannel =
    channels.includes(channel) || (channel.startsWith('custom:') && channels.includes('custom'));
  if (!isOfChannel) return false;
  if (!namespaces || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      prefix.length <= at.length &&
      prefix.every((segment, index) => isSegment(at[index], segment)) &&
      (typeof depth !== 'number' || at.length - prefix.length <= depth),
  );
}
