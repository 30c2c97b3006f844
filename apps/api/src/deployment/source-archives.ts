import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { bodyPieces, bodyTooLarge } from '#lib/http';
import { ObjectStoreError } from '#lib/object-store';
import { type AgentDeployment, type AgentRevision, idOf } from '#lib/resources';
import { Tick } from '#lib/nest';
import type { Clock } from '#lib/time';
import type { SourcePlace, SourceArchives } from '#lib/trace-store';
import { type AttachmentKeeper, NotKeptError } from '../attachment/attachment-keeper.js';
import { signAttachment, verifyAttachment } from '../attachment/attachment-urls.js';
import { readObject } from '../attachment/read-object.js';
import type { AttachmentStore } from '../core/attachment-store.js';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { wireName } from './render-deployment.js';

/** Maximum size of an archive; the clients of this interface have the same. */
export const MAX_ARCHIVE_BYTES = 209_715_200;
const EVERY_TEN_MINUTES = '7-59/10 * * * *';
const VALID_MS = 3_600_000;
/** Each upload holds one part of an object in memory, 5 MiB. */
const UPLOAD_PLACES = {
  capacity: 8,
  perOwner: 3,
  refusal: 'Too many archives are uploaded at once; upload this one once others have arrived',
};
const PATH = /^deployments\/([0-9a-f-]{36})\/archives\/([0-9a-f-]{36})$/;
const NO_STORE =
  'this platform has no object store for archives; set AGENTPLANE_ATTACHMENT_BUCKET of the api, or deploy an image';
const NO_ADDRESS =
  'the address of this platform is not known, and the upload needs a whole URL; set AGENTPLANE_PUBLIC_URL of the api';
const GONE =
  'The upload URL is not valid: it is over after an hour, and with its deployment; request a new one';

/** Answer with the place of an upload. */
export interface UploadPlace {
  readonly upload_url: string;
  readonly object_path: string;
  readonly upload_headers: Readonly<Record<string, string>>;
}

export interface SourceArchiveParts {
  /** Undefined where none is configured: no archives are taken then. */
  readonly store: AttachmentStore | undefined;
  readonly table: SourceArchives;
  readonly keeper: Pick<AttachmentKeeper, 'keep'>;
  readonly deployments: Pick<ResourceHome<AgentDeployment>, 'find' | 'list'>;
  readonly revisions: Pick<ResourceHome<AgentRevision>, 'list'>;
  readonly workspaces: Pick<Workspaces, 'has' | 'homeOf'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Archives of sources: uploaded by signed URLs, and fetched by the builds of their deployment. */
export class UploadedArchives {
  readonly #places = new Admission(UPLOAD_PLACES);

  constructor(private readonly parts: SourceArchiveParts) {}

  /** @param origin at which clients reach the api; '' when it is not known. @throws PublicError bad_request where nothing can be uploaded to */
  place(caller: Caller, deployment: AgentDeployment, origin: string): UploadPlace {
    const { store, clock } = this.parts;
    if (deployment.spec.source !== 'internal_source')
      throw refused(
        `Upload URLs are only available for 'internal_source' source deployments, and this one is of ${deployment.spec.source}; create another deployment`,
      );
    if (!store) throw refused(`Requesting an upload URL failed: ${NO_STORE}`);
    if (origin === '') throw refused(`Requesting an upload URL failed: ${NO_ADDRESS}`);
    const [deploymentId, id] = [idOf(deployment) ?? '', randomUUID()];
    const untilMs = clock.now().getTime() + VALID_MS;
    const grant = { tenantId: caller.tenantId, runId: deploymentId, objectId: id, untilMs };
    return {
      upload_url: `${origin}/uploads/${signAttachment(grant, store.uploadKey)}`,
      object_path: `deployments/${deploymentId}/archives/${id}`,
      upload_headers: { 'Content-Type': 'application/gzip' },
    };
  }

  /**
   * Stores what is sent to an upload URL, once.
   * @param length announced bytes
   * @throws PublicError not_found for an unknown or old URL, conflict for a used one, too_large, too_many
   */
  async take(token: string, body: Readable, length: number | undefined): Promise<void> {
    const { table, keeper } = this.parts;
    const { tenantId, ...archive } = this.#placeOf(token);
    if (await table.find(tenantId, archive)) throw used();
    const { release } = this.#places.require(tenantId);
    try {
      // the size of an upload in memory is bounded by its place
      const uncounted = { hold: () => undefined, keep: () => undefined };
      const objectId = await keeper.keep(tenantId, { pieces: bounded(body), length, ...uncounted });
      const outcome = await table.add(tenantId, archive, objectId);
      if (outcome === 'used') throw used();
      if (outcome === 'gone')
        throw new PublicError('unavailable', 'Storing the archive took too long; retry');
    } catch (error) {
      if (!(error instanceof NotKeptError)) throw error;
      const code = error.cause instanceof ObjectStoreError ? 'unavailable' : 'bad_request';
      throw new PublicError(code, `Storing the archive failed: ${error.message}`, [], { cause: error });
    } finally {
      release();
    }
  }

  /** The bytes of an archive. @throws PublicError not_found, also for the key of another deployment */
  async read(
    caller: Caller,
    deployment: AgentDeployment,
    id: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Readable; readonly size: number }> {
    const { store, table } = this.parts;
    const isOpen = caller.scope !== 'deployment' || caller.project === wireName(deployment);
    const found =
      store && isOpen
        ? await table.find(caller.tenantId, { deploymentId: idOf(deployment) ?? '', id })
        : undefined;
    if (!store || !found) throw new PublicError('not_found', 'Not Found');
    return { bytes: await readObject(store, caller.tenantId, found, signal), size: found.size };
  }

  /** Problems of an archive that a deployment is to be built from; `undefined` while it has no id. */
  async problems(
    caller: Caller,
    deploymentId: string | undefined,
    path: string | null | undefined,
  ): Promise<readonly FieldProblem[]> {
    if (path === undefined || path === null) return [];
    const [, of = '', id = ''] = PATH.exec(path) ?? [];
    const isOwn = of !== '' && of === deploymentId;
    if (isOwn && (await this.parts.table.find(caller.tenantId, { deploymentId: of, id }))) return [];
    const msg = isOwn
      ? 'no archive was uploaded to this path; PUT it to the upload_url first'
      : 'must be the object_path of an upload URL of this deployment';
    const loc = ['body', 'source_revision_config', 'source_tarball_path'];
    return [{ loc, msg, type: 'value_error' }];
  }

  /** Removes the archives that no deployment and no revision names. */
  @Tick('archives', EVERY_TEN_MINUTES)
  async tidy(): Promise<void> {
    const { table } = this.parts;
    for (let page = await table.aged(); page.length > 0; page = await table.aged(page.at(-1)))
      for (const [tenantId, some] of Map.groupBy(page, (one) => one.tenantId)) {
        const named = this.#named(tenantId);
        const unnamed = some.filter((one) => !named.has(pathOf(one)));
        if (unnamed.length > 0) await table.remove(tenantId, unnamed);
      }
  }

  #named(tenantId: string): ReadonlySet<string | undefined> {
    const { deployments, revisions, workspaces } = this.parts;
    if (!workspaces.has(tenantId)) return new Set();
    const { namespace } = workspaces.homeOf(tenantId);
    return new Set([
      ...deployments.list(namespace).map(({ spec }) => spec.sourceRevisionConfig.sourceTarballPath),
      ...revisions.list(namespace).map(({ spec }) => spec.archive?.path),
    ]);
  }

  #placeOf(token: string): SourcePlace {
    const { store, clock, workspaces, deployments } = this.parts;
    const grant = store && verifyAttachment(token, store.uploadKey, clock.now().getTime());
    if (!grant || !workspaces.has(grant.tenantId)) throw new PublicError('not_found', GONE);
    const { tenantId, runId: deploymentId, objectId: id } = grant;
    if (!deployments.find(workspaces.homeOf(tenantId).namespace, deploymentId))
      throw new PublicError('not_found', GONE);
    return { tenantId, deploymentId, id };
  }
}

function pathOf({ deploymentId, id }: SourcePlace): string {
  return `deployments/${deploymentId}/archives/${id}`;
}

/** The announced length is judged before; this is for a body without one. */
async function* bounded(body: Readable): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  for await (const piece of bodyPieces(body)) {
    bytes += piece.length;
    if (bytes > MAX_ARCHIVE_BYTES) throw bodyTooLarge(MAX_ARCHIVE_BYTES);
    yield piece;
  }
}

function used(): PublicError {
  return new PublicError(
    'conflict',
    'The upload URL was used already; request a new one for another archive',
  );
}

function refused(message: string): PublicError {
  return new PublicError('bad_request', message);
}
