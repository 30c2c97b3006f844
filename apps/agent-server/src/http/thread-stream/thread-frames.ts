import type { OutgoingFrame } from '../../log/outgoing-frame.js';
import type { ProtocolReading } from '../../run/protocol-reading.js';
import { eventFrame } from './event-text.js';

/** Frames for a reader of a thread; they have no end. */
export class ThreadFrames {
  readonly state = 'waiting';
  readonly hasEnd = false;

  constructor(private readonly reading: ProtocolReading) {}

  take(): OutgoingFrame | undefined {
    const event = this.reading.take();
    return event && eventFrame(event);
  }

  close(): void {
    this.reading.close();
  }
}
