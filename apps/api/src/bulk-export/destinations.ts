import { randomUUID } from 'node:crypto';
import { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { destinationUse } from '#lib/export-plan';
import type { DestinationCheck, ObjectStoreSettings } from '#lib/object-store';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type DestinationConfig,
  dnsLabel,
  formerCredentials,
  idOf,
  LABEL,
  MANAGED_BY,
  statusReason,
  withFormerCredentials,
} from '#lib/resources';
import { clientLeft } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { SecretHome } from '../kubernetes/secret-home.js';
import type { TenantHome, Workspaces } from '../tenancy/workspaces.js';
import { renderReason } from '../wire/render-reason.js';
import { invalid } from '../wire/request-pipe.js';
import { rememberWords, type SentWords, wordFor } from '../wire/vocabulary.js';
import {
  addressOf,
  type CreateDestinationRequest,
  type DestinationConfigRequest,
  type DestinationCredentialsRequest,
  type PatchDestinationRequest,
  roleOf,
} from './destination-request.js';
import type { DestinationAnswer, S3ArgumentsAnswer } from './export-answer.js';
import { type ExportsQuery, MAX_LISTED } from './export-request.js';
import { wrongField, wrongValue } from '../wire/request-pipe.js';

/**
 * Tests at a time, of all workspaces. Each looks names up, of which one process has 256 at a time for all of them, and may
 * take half a minute.
 */
const MAX_TESTS = 64;

const BUSY = 'testing the destination failed: too many tests are under way; try again';

export type PerformTest = (
  settings: ObjectStoreSettings,
  bucket: string,
  prefix: string | undefined,
) => Promise<DestinationCheck>;

/** Loaded when it is needed: the client takes 20 MB, and destinations are made rarely. */
const testInEarnest: PerformTest = async (...given) => {
  const { testDestination } = await import('#lib/object-store');
  return testDestination(...given);
};

/** Tries destinations out, a share of all tests for each workspace. */
export class DestinationTests {
  /** Counts tests as it does bytes: one workspace alone has half of them. */
  readonly #budget = new Admission({ capacity: MAX_TESTS, halves: true, refusal: BUSY });

  constructor(private readonly perform: PerformTest = testInEarnest) {}

  /** @throws PublicError too_many */
  run(tenantId: string, ...given: Parameters<PerformTest>): Promise<DestinationCheck> {
    return this.occupy(tenantId, () => this.perform(...given));
  }

  /**
   * Takes a place for as long as `work` lasts, such as waiting for a test that another program makes.
   * @throws PublicError too_many
   */
  async occupy<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    const account = this.#budget.open(tenantId);
    account.hold(1);
    try {
      return await work();
    } finally {
      account.keep(0);
    }
  }
}

const CREDENTIALS_REQUIRED =
  'credentials are missing: this workspace may not use those of the platform; ' +
  'give credentials, or have spec.allowEnvironmentCredentials of the Workspace set';

const NOTHING_TO_CHANGE = wrongValue(
  ['body'],
  'Give display_name, credentials or both; what a destination writes to cannot be changed',
);

/** Former credentials of a destination that exports still need, or that were its own ten minutes ago. */
const MAX_FORMER = 32;
const TOO_MANY_FORMER = `the credentials were changed ${MAX_FORMER} times while exports needed the former ones; wait until those have ended`;

const TESTED_LATELY_MS = 5_000;
/** A test takes half a minute at most, and may wait for a place. */
const TEST_WAIT_MS = 45_000;
const TEST_LOOK_MS = 50;
const DELETE_WAIT_MS = 10_000;

type Credentials = Readonly<Record<string, string>>;

/** Bulk export needs one of these plans. @throws PublicError forbidden */
export function requireExportPlan(home: TenantHome): TenantHome {
  if (home.plan === 'developer')
    throw new PublicError('forbidden', 'Bulk export is available only on the Plus or Enterprise plan');
  return home;
}

/** Absent fields stay undefined, which JSON leaves out: Kubernetes takes no null. */
function configOf(wire: DestinationConfigRequest): DestinationConfig {
  return {
    bucketName: wire.bucket_name,
    ...addressOf(wire),
    prefix: wire.prefix ?? undefined,
    region: wire.region ?? undefined,
    ...writeSettingsOf(wire),
  };
}

/** @throws PublicError invalid when both vocabularies set the same field */
function writeSettingsOf(wire: DestinationConfigRequest): Partial<DestinationConfig> {
  const words = wire.s3_additional_kwargs ?? {};
  const one = <T>(
    name: keyof typeof words,
    own: string,
    a: T | null | undefined,
    b: T | null | undefined,
  ) => {
    if ((a ?? undefined) === undefined || (b ?? undefined) === undefined) return a ?? b ?? undefined;
    const loc = ['body', 'config', 's3_additional_kwargs', name];
    throw wrongField(loc, `Give either ${name} or ${own}`);
  };
  const { ServerSideEncryption, SSEKMSKeyId, StorageClass, ACL } = words;
  return {
    serverSideEncryption: one(
      'ServerSideEncryption',
      'server_side_encryption',
      ServerSideEncryption,
      wire.server_side_encryption,
    ),
    kmsKeyId: one('SSEKMSKeyId', 'kms_key_id', SSEKMSKeyId, wire.kms_key_id),
    storageClass: one('StorageClass', 'storage_class', StorageClass, wire.storage_class),
    acl: one('ACL', 'acl', ACL, wire.acl),
  };
}

/** Absent when nothing was given, so that a client finds the same as it sent. */
function s3Arguments(config: DestinationConfig): S3ArgumentsAnswer | null {
  const words = {
    ...(config.serverSideEncryption === undefined
      ? {}
      : { ServerSideEncryption: config.serverSideEncryption }),
    ...(config.kmsKeyId === undefined ? {} : { SSEKMSKeyId: config.kmsKeyId }),
    ...(config.storageClass === undefined ? {} : { StorageClass: config.storageClass }),
    ...(config.acl === undefined ? {} : { ACL: config.acl }),
  };
  return Object.keys(words).length === 0 ? null : words;
}

/** Destinations of a workspace. */
export class Destinations {
  readonly #tests = new DestinationTests();

  constructor(
    private readonly home: ResourceHome<BulkExportDestination>,
    private readonly exports: Pick<ResourceHome<BulkExport>, 'list'>,
    private readonly secrets: SecretHome,
    private readonly workspaces: Workspaces,
    private readonly allowPrivateEndpoints: boolean,
    private readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'sleep'>,
  ) {}

  async create(
    caller: Caller,
    request: CreateDestinationRequest,
    sent: SentWords,
  ): Promise<DestinationAnswer> {
    const home = requireExportPlan(this.workspaces.homeOf(caller.tenantId));
    const { namespace } = home;
    const id = randomUUID();
    const name = `${dnsLabel(request.display_name).slice(0, 40).replace(/-+$/, '')}-${id.slice(0, 8)}`;
    const credentials = credentialsOf(request.credentials);
    const secretName = credentials && `${name}-credentials`;
    const config = { ...configOf(request.config), awsRoleArn: roleOf(request) };
    const draft = {
      metadata: {
        name,
        namespace,
        annotations: { [ANNOTATION.id]: id, ...rememberWords({ destination_type: 's3', ...sent }) },
        labels: { [LABEL.managedBy]: MANAGED_BY },
      },
      spec: {
        displayName: request.display_name,
        type: 'object_store' as const,
        config,
        ...(secretName === undefined ? {} : { credentialsSecretRef: { name: secretName } }),
      },
    };
    if (!credentials) requireEnvironmentCredentials(home);
    await this.home.dryRun(draft);
    await this.#mustBeUsable(caller, config, credentials);
    if (credentials && secretName !== undefined)
      await this.secrets.create({ namespace, name: secretName }, 'destination-credentials', credentials);
    const created = await this.#orCleanUp(this.home.create(draft), namespace, secretName);
    return renderDestination(created, caller.tenantId, Object.keys(credentials ?? {}).sort());
  }

  async list(caller: Caller, query: ExportsQuery): Promise<readonly DestinationAnswer[]> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const { offset = 0, limit = MAX_LISTED } = query;
    const page = this.home.list(namespace).slice(offset, offset + limit);
    return Promise.all(page.map((one) => this.#render(caller, one)));
  }

  /** @throws PublicError not_found */
  async get(caller: Caller, id: string): Promise<DestinationAnswer> {
    return this.#render(caller, this.#find(caller, id));
  }

  /**
   * New credentials are a new Secret: runs that have begun, and those that are being made at this moment, name the former
   * one. The controller deletes it once nothing does.
   * @throws PublicError not_found; bad_request when the test with the new credentials fails; conflict
   */
  async change(caller: Caller, id: string, request: PatchDestinationRequest): Promise<DestinationAnswer> {
    const home = requireExportPlan(this.workspaces.homeOf(caller.tenantId));
    const found = this.#find(caller, id);
    const { name, namespace = '' } = found.metadata;
    const credentials = credentialsOf(request.credentials);
    const { display_name: displayName } = request;
    const { credentialsSecretRef, config } = found.spec;
    const named = roleOf(request);
    // keys of a person who has them assume a role are replaced by keys that do the same
    const awsRoleArn = named ?? (credentials && credentialsSecretRef ? config.awsRoleArn : undefined);
    const isSwitched = credentials !== undefined || named !== undefined;
    // clients of LangSmith send their changed fields alone, which may be none that is known here
    if (!isSwitched && !displayName && isVendors(found)) return this.#render(caller, found);
    if (!isSwitched && !displayName) throw invalid([NOTHING_TO_CHANGE]);
    const secretName = credentials && `${name}-credentials-${randomUUID().slice(0, 8)}`;
    if (named !== undefined) requireEnvironmentCredentials(home);
    if (isSwitched) await this.#mustBeUsable(caller, { ...config, awsRoleArn }, credentials);
    if (credentials && secretName !== undefined)
      await this.secrets.create({ namespace, name: secretName }, 'destination-credentials', credentials);
    const written = this.home.change({ namespace, name }, (current) => {
      const renamed = { ...current, spec: { ...current.spec, ...(displayName ? { displayName } : {}) } };
      return isSwitched ? this.#switched(renamed, secretName, awsRoleArn) : renamed;
    });
    const changed = await this.#orCleanUp(written, namespace, secretName);
    return this.#render(caller, changed);
  }

  /**
   * Has the controller test a destination again, and waits for the result. One that was tested in the last
   * seconds is not tested: each test occupies one of a few slots, and may take half a minute. So does a
   * request that waits for one, until its client leaves.
   * @throws PublicError not_found, too_many
   */
  async test(caller: Caller, id: string): Promise<DestinationAnswer> {
    requireExportPlan(this.workspaces.homeOf(caller.tenantId));
    const found = this.#find(caller, id);
    const { name, namespace = '' } = found.metadata;
    const { clock } = this;
    const testedAt = found.status?.testedAt;
    if (testedAt !== undefined && clock.now().getTime() - Date.parse(testedAt) < TESTED_LATELY_MS)
      return this.#render(caller, found);
    return this.#tests.occupy(caller.tenantId, async () => {
      await this.home.change({ namespace, name }, (current) => {
        const annotations = { ...current.metadata.annotations, [ANNOTATION.testRequest]: randomUUID() };
        return { ...current, metadata: { ...current.metadata, annotations } };
      });
      const left = clientLeft();
      const untilMs = clock.monotonicMs() + TEST_WAIT_MS;
      while (this.#find(caller, id).status?.testedAt === testedAt && clock.monotonicMs() < untilMs) {
        left?.throwIfAborted();
        await clock.sleep(TEST_LOOK_MS);
      }
      return this.get(caller, id);
    });
  }

  /**
   * Its credentials are deleted with it; objects in the bucket stay.
   * @param isForced although exports use it, which fail then
   * @throws PublicError not_found, conflict while exports or schedules use it
   */
  async delete(caller: Caller, id: string, isForced: boolean): Promise<void> {
    const found = this.#find(caller, id);
    const { name, namespace = '' } = found.metadata;
    if (isForced)
      await this.home.change({ namespace, name }, (current) => {
        const annotations = { ...current.metadata.annotations, [ANNOTATION.forceDeletion]: 'true' };
        return { ...current, metadata: { ...current.metadata, annotations } };
      });
    await this.home.delete(found, isForced ? undefined : (current) => this.#mustBeUnused(current));
    // the controller removes its finalizer; a caller does not find deleted destinations afterwards
    const untilMs = this.clock.monotonicMs() + DELETE_WAIT_MS;
    while (this.home.find(namespace, id) && this.clock.monotonicMs() < untilMs)
      await this.clock.sleep(TEST_LOOK_MS);
  }

  #mustBeUnused(destination: BulkExportDestination): void {
    const use = destinationUse(destination, this.exports.list(destination.metadata.namespace ?? ''));
    if (use !== undefined)
      throw new PublicError(
        'conflict',
        `deleting the destination failed: ${use}; wait until these have ended, cancel them or give schedules another destination, or repeat with force=true`,
      );
  }

  /** @throws PublicError not_found */
  #find(caller: Caller, id: string): BulkExportDestination {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const found = this.home.find(namespace, id);
    if (!found) throw new PublicError('not_found', `Destination with ID ${id} not found`);
    return found;
  }

  /**
   * The destination with other credentials, or another role, in place of both.
   * @throws PublicError conflict
   */
  #switched(
    destination: BulkExportDestination,
    secretName: string | undefined,
    awsRoleArn: string | undefined,
  ): BulkExportDestination {
    const { metadata } = destination;
    const { credentialsSecretRef, config, ...others } = destination.spec;
    const spec = {
      ...others,
      config: { ...config, awsRoleArn },
      ...(secretName === undefined ? {} : { credentialsSecretRef: { name: secretName } }),
    };
    const former = credentialsSecretRef?.name;
    if (former === undefined) return { ...destination, spec };
    if (formerCredentials(destination).length >= MAX_FORMER)
      throw new PublicError('conflict', TOO_MANY_FORMER);
    const since = this.clock.now().toISOString();
    return {
      ...destination,
      metadata: withFormerCredentials(metadata, { secretName: former, since }),
      spec,
    };
  }

  async #mustBeUsable(
    caller: Caller,
    config: DestinationConfig,
    credentials: Credentials | undefined,
  ): Promise<void> {
    // loaded when it is needed: the client takes 20 MB, and destinations are made rarely
    const { destinationSettings, keysOfSecret } = await import('#lib/object-store');
    const keys = keysOfSecret(credentials && new Map(Object.entries(credentials)), true);
    const { allowPrivateEndpoints } = this;
    const settings = { ...destinationSettings(config, keys, caller.tenantId), allowPrivateEndpoints };
    const { bucketName, prefix } = config;
    const result = await this.#tests.run(caller.tenantId, settings, bucketName, prefix);
    if (result.kind === 'usable') return;
    const { message, advice } = result;
    throw new PublicError('bad_request', `${message}: ${advice}`);
  }

  /**
   * A Secret that was made for a resource is deleted with it, or at once when the resource was not written.
   */
  async #orCleanUp(
    written: Promise<BulkExportDestination>,
    namespace: string,
    secretName: string | undefined,
  ): Promise<BulkExportDestination> {
    let destination: BulkExportDestination;
    try {
      destination = await written;
    } catch (error) {
      if (secretName !== undefined) await this.secrets.delete({ namespace, name: secretName });
      throw error;
    }
    if (secretName !== undefined) await this.secrets.adopt({ namespace, name: secretName }, destination);
    return destination;
  }

  async #render(caller: Caller, destination: BulkExportDestination): Promise<DestinationAnswer> {
    const { namespace = '' } = destination.metadata;
    const secret = destination.spec.credentialsSecretRef?.name;
    const names = secret === undefined ? [] : await this.secrets.names({ namespace, name: secret });
    return renderDestination(destination, caller.tenantId, names);
  }
}

/** @throws PublicError bad_request */
function requireEnvironmentCredentials({ allowsEnvironmentCredentials }: TenantHome): void {
  if (!allowsEnvironmentCredentials) throw new PublicError('bad_request', CREDENTIALS_REQUIRED);
}

/** True for a destination that was created in the words of LangSmith; so are its exports then. */
export function isVendors(destination: Pick<BulkExportDestination, 'metadata' | 'spec'>): boolean {
  const { type } = destination.spec;
  return wordFor(destination, 'destination_type', type) !== type;
}

function credentialsOf(request: DestinationCredentialsRequest | null | undefined): Credentials | undefined {
  if (!request) return undefined;
  const { access_key_id, secret_access_key, session_token } = request;
  return { access_key_id, secret_access_key, ...(session_token ? { session_token } : {}) };
}

function renderDestination(
  destination: BulkExportDestination,
  tenantId: string,
  credentialsKeys: readonly string[],
): DestinationAnswer {
  const { metadata, spec, status } = destination;
  const changes = (status?.conditions ?? []).map((condition) => condition.lastTransitionTime).sort();
  const { config } = spec;
  return {
    id: idOf(destination) ?? '',
    tenant_id: tenantId,
    destination_type: wordFor(destination, 'destination_type', spec.type),
    display_name: spec.displayName ?? metadata.name,
    config: {
      bucket_name: config.bucketName,
      prefix: config.prefix ?? '',
      region: config.region ?? null,
      endpoint_url: config.endpointUrl ?? null,
      include_bucket_in_prefix: config.includeBucketInPrefix,
      server_side_encryption: config.serverSideEncryption ?? null,
      kms_key_id: config.kmsKeyId ?? null,
      storage_class: config.storageClass ?? null,
      acl: config.acl ?? null,
      aws_role_arn: config.awsRoleArn ?? null,
      s3_additional_kwargs: s3Arguments(config),
    },
    credentials_keys: credentialsKeys,
    ...renderReason(statusReason(destination)),
    tested_at: status?.testedAt ?? null,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: changes.at(-1) ?? metadata.creationTimestamp ?? '',
  };
}
