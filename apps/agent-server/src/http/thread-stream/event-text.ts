import type { OutgoingFrame } from '../../log/outgoing-frame.js';
import type { ThreadEvent } from '../../run/protocol-reading.js';

const MESSAGE_END = Buffer.from('}');
const FRAME_END = Buffer.from('}\n\n');

/** Name of events of a channel on the wire. */
function methodOf(channel: string): string {
  if (channel === 'input') return 'input.requested';
  return channel.startsWith('custom:') ? 'custom' : channel;
}

function frameOf({ channel, params }: ThreadEvent, head: string, tail: Buffer): OutgoingFrame {
  const shared = typeof params === 'string' ? undefined : params;
  const frame = typeof params === 'string' ? Buffer.from(params) : params.dataBytes;
  return { event: channel, head: Buffer.from(head), frame, tail, of: shared };
}

function beginning({ seq, id, channel }: ThreadEvent): string {
  return `{"type":"event","event_id":"${id}","seq":${seq},"method":"${methodOf(channel)}","params":`;
}

/** An event as JSON text. */
export function eventMessage(event: ThreadEvent): OutgoingFrame {
  return frameOf(event, beginning(event), MESSAGE_END);
}

/** The same as a server-sent event. */
export function eventFrame(event: ThreadEvent): OutgoingFrame {
  const { id, channel } = event;
  return frameOf(event, `id: ${id}\nevent: ${methodOf(channel)}\ndata: ${beginning(event)}`, FRAME_END);
}
