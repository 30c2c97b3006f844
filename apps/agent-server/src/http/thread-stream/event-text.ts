import type { ThreadEvent } from '../../run/protocol-reading.js';

/** What the wire calls events of a channel. */
function methodOf(channel: string): string {
  if (channel === 'input') return 'input.requested';
  return channel.startsWith('custom:') ? 'custom' : channel;
}

/** An event as JSON text. */
export function eventText({ seq, id, channel, params }: ThreadEvent): string {
  const method = methodOf(channel);
  return `{"type":"event","event_id":"${id}","seq":${seq},"method":"${method}","params":${params}}`;
}

/** The same as a server-sent event. */
export function eventFrame(event: ThreadEvent): Buffer {
  return Buffer.from(`id: ${event.id}\nevent: ${methodOf(event.channel)}\ndata: ${eventText(event)}\n\n`);
}
