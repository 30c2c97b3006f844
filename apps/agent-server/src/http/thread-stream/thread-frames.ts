import type { ProtocolReading } from '../../run/protocol-reading.js';
import { eventFrame } from './event-text.js';

/** What a reader of a thread is sent; it has no end. */
export class ThreadFrames {
  readonly state = 'waiting';
  readonly hasEnd = false;

  constructor(private readonly reading: ProtocolReading) {}

  take(): { readonly frame: Buffer; readonly event: string } | undefined {
    const event = this.reading.take();
    return event && { frame: eventFrame(event), event: event.channel };
  }

  close(): void {
    this.reading.close();
  }
}
