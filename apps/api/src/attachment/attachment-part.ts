import { isUuid } from '#lib/resources';
import { NotKeptError } from './not-kept-error.js';

/** Subject of a part, from its name and its headers. */
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
/** Control characters, which names must not carry into logs, headers and screens. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** @throws NotKeptError */
export function parseAttachmentPart(partName: string, contentType: string): AttachmentPart {
  const [runId = '', ...rest] = partName.slice(PREFIX.length).split('.');
  const name = rest.join('.');
  if (!isUuid(runId)) throw new NotKeptError('its part is not named attachment.RUN_ID.NAME');
  const problem = nameProblem(name);
  if (problem !== undefined) throw new NotKeptError(problem);
  return { runId: runId.toLowerCase(), name, contentType: typeOf(contentType) };
}

/** Why an attachment cannot have this name. */
export function nameProblem(name: string): string | undefined {
  if (name !== '' && name.length <= MAX_NAME && !CONTROL.test(name)) return undefined;
  return `its name must have 1 to ${MAX_NAME} characters and no control characters`;
}

/**
 * Content type without the length, which the JavaScript client announces there; without a type, that of
 * arbitrary bytes.
 */
export function typeOf(header: string): string {
  const type = header.replace(/;\s*length=\d+/i, '').trim();
  return TYPE.test(type) ? type : ANY_TYPE;
}
