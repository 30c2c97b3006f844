import { Readable } from 'node:stream';
import { Headers, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import type { ApiConfig } from '../config.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { API_CONFIG } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described, Resource } from '../wire/operation.js';
import { AskedOrigin, originOf } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { Post, Put, Get } from '../wire/route.js';
import { DEPLOYMENT, publicly, WORKSPACE } from '../wire/route-access.js';
import { Answered, TEXT, textMap } from '../wire/shape.js';
import { Deployments } from './deployments.js';
import { MAX_ARCHIVE_BYTES, UploadedArchives, type UploadPlace } from './source-archives.js';

/** Each holds a connection to the object store. */
const PLACES = {
  capacity: 12,
  perOwner: 4,
  refusal: 'Too many archives are read at once; finish reading others, or try again',
};
/** Memory of a download: buffers of the two connections. */
const HELD_BYTES = 262_144;
const ARCHIVE = 'An uploaded archive, as its build fetches it';
const BYTES = { type: 'string', format: 'binary' };
/** The first sentence is matched by clients of this interface. */
const NOT_PUSHED =
  "Push tokens are only available for 'internal_docker' source deployments; upload the source instead";
const NO_REGISTRY =
  'This platform has no registry that it gives logins to: deploy with --remote, by which the source is uploaded and built here, or on a cluster with --push-to and a registry of your own';

/** Place of an upload. */
export class UploadPlaceAnswer implements UploadPlace {
  @Answered(TEXT, 'Takes one PUT of a tar.gz of at most 200 MB, without a key, within an hour')
  readonly upload_url: string;

  @Answered(TEXT, 'What to send as source_tarball_path once it is uploaded') readonly object_path: string;
  @Answered(textMap(), 'Headers to send with the PUT') readonly upload_headers: Readonly<
    Record<string, string>
  >;
}

/** Login of a registry. */
class PushTokenAnswer {
  @Answered(TEXT) readonly token: string;
  @Answered(TEXT) readonly registry_url: string;
}

/** Uploads of sources that the platform builds. */
@Resource('Deployments (v2)')
export class ArchivesController {
  readonly #places = new Admission(PLACES);

  constructor(
    private readonly deployments: Deployments,
    private readonly archives: UploadedArchives,
    private readonly answers: AnswerBudget,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Post('v2/deployments/:deployment_id/upload-url', WORKSPACE, {
    summary: 'A URL to which the source of a deployment of internal_source is uploaded, once',
    answer: UploadPlaceAnswer,
    refuses: { 400: 'The deployment is of another source, or the platform takes no uploads' },
  })
  place(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') id: string,
    @AskedOrigin() asked: string,
  ): UploadPlaceAnswer {
    const origin = originOf(this.config.publicUrl, asked);
    return this.archives.place(caller, this.deployments.changeable(caller, id), origin);
  }

  @Put('uploads/:token', publicly('a signed URL for one archive of a deployment'), {
    summary: 'Takes the archive of a source, by a URL that was answered for it; no key is needed',
    status: 204,
    refuses: {
      404: 'The URL is not known, or is over',
      409: 'The URL was used already',
      413: 'The archive is larger than 200 MB',
      429: 'Too many archives are uploaded at once',
      503: 'The object store is unavailable',
    },
    config: { rawBody: true, maxRawBytes: MAX_ARCHIVE_BYTES },
  })
  @Described(({ ApiParam }) => ApiParam({ name: 'token', schema: { type: 'string', maxLength: 200 } }))
  async take(
    @Param('token') token: string,
    @Req() { body }: FastifyRequest,
    @Headers('content-length') length?: string,
  ): Promise<void> {
    if (!(body instanceof Readable)) throw new PublicError('bad_request', 'The body has no archive');
    await this.archives.take(token, body, length === undefined ? undefined : Number(length));
  }

  @Get('v2/deployments/:deployment_id/archives/:archive_id', DEPLOYMENT, {
    summary: ARCHIVE,
    refuses: { 404: 'There is no such archive', 429: 'Too much is read at once' },
    config: { countsAnswer: true },
  })
  @Described(({ ApiResponse }) =>
    ApiResponse({ status: 200, description: ARCHIVE, content: { 'application/gzip': { schema: BYTES } } }),
  )
  async read(
    @FromCaller() caller: Caller,
    @PathId('deployment_id') deploymentId: string,
    @PathId('archive_id') archiveId: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const deployment = this.deployments.find(caller, deploymentId);
    const leave = this.#places.require(caller.tenantId).release;
    await this.answers.sendWatched(reply, caller.tenantId, leave, async ({ hold }, signal) => {
      hold(HELD_BYTES);
      const { bytes, size } = await this.archives.read(caller, deployment, archiveId, signal);
      void reply.headers({ 'content-type': 'application/gzip', 'content-length': String(size) });
      return bytes;
    });
  }

  @Post('v2/deployments/:deployment_id/push-token', WORKSPACE, {
    summary:
      'The login of a registry, for clients that push images; refused, since the platform gives none away',
    answer: PushTokenAnswer,
    refuses: { 400: 'There is no registry to push to' },
  })
  push(@FromCaller() caller: Caller, @PathId('deployment_id') id: string): never {
    const { spec } = this.deployments.changeable(caller, id);
    throw new PublicError('bad_request', spec.source === 'internal_image' ? NO_REGISTRY : NOT_PUSHED);
  }
}
