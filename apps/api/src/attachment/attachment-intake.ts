import type { Caller } from '#lib/auth';
import { isUuid } from '#lib/resources';
import type { NewAttachment, TraceStore } from '#lib/trace-store';
import { type AttachmentKeeper, NotKeptError, type SentAttachment } from './attachment-keeper.js';

/** Subject of a part, from its name and its headers. */
export interface AttachmentPart {
  readonly runId: string;
  readonly name: string;
  readonly contentType: string;
}

const PREFIX = 'attachment.';
const MAX_NAME = 200;
const ANY_TYPE = 'application/octet-stream';
const TOKEN = '[A-Za-z0-9!#$&^_.+-]{1,100}';
const TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:; ?${TOKEN}=${TOKEN}){0,3}$`);
/** Control characters, which names must not carry into logs, headers and screens. */
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** @throws NotKeptError */
function parseAttachmentPart(partName: string, contentType: string): AttachmentPart {
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

/** Maximum number of attachments per request: each costs statements and a request to the store. */
const MOST = 1_000;

/** One part that is handed on as it comes. */
export interface StreamedPart extends Pick<SentAttachment, 'pieces' | 'length'> {
  readonly name: string;
  readonly contentType: string;
}

/** Callback with the name of a part that is not kept, and the reason. */
export type NotKept = (partName: string, why: string) => void;

/** The attachments of one request: their bytes as they come, the references once their runs are stored. */
export class AttachmentIntake {
  readonly #linked: NewAttachment[] = [];
  #count = 0;

  constructor(
    private readonly keeper: Pick<AttachmentKeeper, 'keep'>,
    private readonly store: Pick<TraceStore, 'attachments' | 'projects'>,
    private readonly caller: Caller,
  ) {}

  static isStreamed(this: void, partName: string): boolean {
    return partName.startsWith(PREFIX);
  }

  async take(
    { name, contentType, pieces, length }: StreamedPart,
    { hold, keep }: Pick<SentAttachment, 'hold' | 'keep'>,
    notKept: NotKept,
  ): Promise<void> {
    try {
      if (++this.#count > MOST) throw new NotKeptError(`a request brings ${MOST} attachments at most`);
      const part = parseAttachmentPart(name, contentType);
      const objectId = await this.keeper.keep(this.caller.tenantId, { pieces, length, hold, keep });
      this.#linked.push({ ...part, objectId });
    } catch (error) {
      if (!(error instanceof NotKeptError)) throw error;
      notKept(name, error.message);
      for await (const piece of pieces) if (piece.length > 0) keep(0);
    }
  }

  /** Links the attachments, once the runs of the request are stored. */
  async link(notKept: NotKept): Promise<void> {
    if (this.#linked.length === 0) return;
    for (const { runId, name, why } of await this.#link()) notKept(`${PREFIX}${runId}.${name}`, why);
  }

  async #link(): ReturnType<TraceStore['attachments']['link']> {
    const { caller, store } = this;
    const { tenantId } = caller;
    if (caller.scope !== 'deployment') return store.attachments.link(tenantId, this.#linked);
    const own = await store.projects.find(tenantId, { name: caller.project });
    if (own) return store.attachments.link(tenantId, this.#linked, own.id);
    const why = `the tracing project ${caller.project} does not exist; send a run first`;
    return this.#linked.map(({ runId, name }) => ({ runId, name, why }));
  }
}
