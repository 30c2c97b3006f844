import { Readable } from 'node:stream';
import { Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import type { StoredAttachment, TraceStore } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';
import { verifyAttachment } from '../attachment/attachment-urls.js';
import { readObject } from '../attachment/read-object.js';
import { ATTACHMENT_STORE, CLOCK, TRACE_STORE } from '../core/tokens.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Described, Resource } from '../wire/operation.js';
import { Get } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';
import { AnswerBudget } from '../core/answer-budget.js';

/** Each holds a connection to the object store; fewer than a store's client opens, so that none waits for one. */
const PLACES = {
  capacity: 12,
  perOwner: 4,
  refusal: 'Too many attachments are read at once; finish reading others, or try again',
};
/** Memory of a download: buffers of the two connections. */
const HELD_BYTES = 262_144;
const SUMMARY = 'The bytes of an attachment, by a URL that a run was answered with; no key is needed';
const BYTES = { type: 'string', format: 'binary' };
const GONE = 'The attachment does not exist, or its URL is no longer valid; read the run again for a new one';

/** Bytes of attachments, for every holder of a signed URL. */
@Resource('Runs', 'attachments')
export class AttachmentsController {
  readonly #places = new Admission(PLACES);

  constructor(
    @Inject(ATTACHMENT_STORE) private readonly attachments: AttachmentStore | undefined,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'attachments' | 'shares'>,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
    @Inject(Workspaces) private readonly workspaces: Pick<Workspaces, 'has'>,
    private readonly answers: AnswerBudget,
  ) {}

  @Get(':token', publicly('the token is signed, and names the owner of the attachment', { isForAll: true }), {
    summary: SUMMARY,
    refuses: { 404: GONE, 429: 'Too much is read at once', 503: 'The object store is unavailable' },
    config: { countsAnswer: true },
  })
  @Described(({ ApiParam }) => ApiParam({ name: 'token', schema: { type: 'string', maxLength: 200 } }))
  @Described(({ ApiResponse }) =>
    ApiResponse({ status: 200, description: SUMMARY, content: { '*/*': { schema: BYTES } } }),
  )
  async get(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { attachments, clock } = this;
    const grant = attachments && verifyAttachment(token, attachments.urlKey, clock.now().getTime());
    if (!attachments || !grant || !this.workspaces.has(grant.tenantId))
      throw new PublicError('not_found', GONE);
    const { tenantId, runId, objectId, share } = grant;
    const leave = this.#places.require(tenantId).release;
    await this.answers.sendWatched(reply, tenantId, leave, async ({ hold }, signal) => {
      hold(HELD_BYTES);
      if (share !== undefined && !(await this.store.shares.open(share)))
        throw new PublicError('not_found', GONE);
      const found = await this.store.attachments.find(tenantId, runId, objectId);
      if (!found) throw new PublicError('not_found', GONE);
      const isHead = request.method === 'HEAD';
      const bytes = isHead ? Readable.from([]) : await readObject(attachments, tenantId, found, signal);
      void reply.headers(headersOf(found));
      return bytes;
    });
  }
}

/**
 * Headers of a download: scripts in it cannot run in the origin of the api, and a browser saves it instead of
 * showing it.
 */
function headersOf({ name, contentType, size }: StoredAttachment): Record<string, string> {
  const plain = name.replace(/[^\w. ()-]/g, '_');
  return {
    'content-type': contentType,
    'content-length': String(size),
    'content-disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded(name)}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'cross-origin',
    'referrer-policy': 'no-referrer',
  };
}

/** Name in the encoding of RFC 8187. */
function encoded(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*!]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
