import { isUuid } from '#lib/resources';
import { NotKeptError } from './not-kept-error.js';

/** What a part is about, as its name and its headers say. */
export interface AttachmentPart {
  readonly runId: string;
  readonly name: string;
  readonly contentType: string;
}

export const PREFIX = 'attachment.';
const MAX_NAME = 200;
const ANY_TYPE = 'application/octet-stream';
const TOKEN = '[A-Za-z0-9!#$&^_.+-]{1,100}';
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:; ?${TOKEN}=${TOKEN}){0,3}$`);
/** In logs, in headers, on screens. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** @throws NotKeptError */
export function parseAttachmentPart(partName: string, contentType: string): AttachmentPart {
  const [runId = '', ...rest] = partName.slice(PREFIX.length).split('.');
  const name = rest.join('.');
  if (!isUuid(runId)) throw new NotKeptError('its part is not named attachment.RUN_ID.NAME');
  if (name === '' || name.length > MAX_NAME || CONTROL.test(name))
    throw new NotKeptError(`its name must have 1 to ${MAX_NAME} characters and no control characters`);
  return { runId: runId.toLowerCase(), name, contentType: typeOf(contentType) };
}

/** Without the length, which the JavaScript client announces there; bytes of any type where it is none. */
function typeOf(header: string): string {
  const type = header.replace(/;\s*length=\d+/i, '').trim();
  return TYPE.test(type) ? type : ANY_TYPE;
}
