import type { Caller } from '#lib/auth';
import type { NewAttachment, TraceStore } from '#lib/trace-store';
import type { AttachmentKeeper, SentAttachment } from './attachment-keeper.js';
import { parseAttachmentPart, PREFIX } from './attachment-part.js';
import { NotKeptError } from './not-kept-error.js';

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
