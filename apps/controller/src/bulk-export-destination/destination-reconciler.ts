import { checkPrefix, destinationUse, isDeletedByForce } from '#lib/export-plan';
import { addFinalizer, type KubeClient, removeFinalizer, StatusWriter } from '#lib/kube';
import type { PlatformSettings } from '#lib/manifests';
import { type DestinationCheck, testDestination } from '#lib/object-store';
import { after, done, finalizerStep, type Result, wait } from '#lib/reconcile';
import {
  ANNOTATION,
  type BulkExportDestination,
  type BulkExportDestinationStatus,
  type Condition,
  CONDITION,
  type ConditionDraft,
  FINALIZER,
  findCondition,
  isDeleting,
  keyText,
  type ObjectKey,
  REASON,
  RESOURCES,
  type Secret,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { type Caches, workspaceOf } from '../caches.js';
import { ensureId } from '../identity/decide-id.js';
import { pacedLook, untilSecretLook } from '../paced-look.js';
import { conditionsOf } from '../status-conditions.js';
import {
  environmentProblem,
  secretProblem,
  storeSettings,
  testedHash,
  type TestGround,
} from './store-settings.js';

/**
 * Time after which a refused destination is tested again: people repair buckets without touching the
 * resource.
 */
const RETEST_REFUSED_MS = 300_000;
/** A store that cannot be reached may be back soon. */
const RETEST_UNREACHABLE_MS = 30_000;

/** Runs of one export fail together, and a test serves them all. */
const RETEST_SUSPECT_MS = 5_000;

/** Keys expire and rights are taken away, which an export should not be the first to find. */
const RETEST_USABLE_MS = 24 * 3_600_000;

/** The result of a test as a condition, and when to test again. */
interface TestOutcome {
  readonly condition: ConditionDraft;
  readonly testAgainMs: number;
}

/**
 * Milliseconds until the next test, 0 for now.
 * @param isSuspect true when an attempt to write to it has failed since
 */
export function untilNextTest(
  destination: BulkExportDestination,
  hash: string,
  now: Date,
  isSuspect = false,
): number {
  const validated = findCondition(destination.status?.conditions, CONDITION.validated);
  if (!validated || destination.status?.testedHash !== hash) return 0;
  const patience = Math.min(patienceOf(validated), isSuspect ? RETEST_SUSPECT_MS : Number.POSITIVE_INFINITY);
  const testedAt = Date.parse(destination.status.testedAt ?? validated.lastTransitionTime);
  return Math.max(0, testedAt + patience - now.getTime());
}

function patienceOf({ status, reason }: Condition): number {
  if (status === 'True') return RETEST_USABLE_MS;
  return reason === REASON.unreachable ? RETEST_UNREACHABLE_MS : RETEST_REFUSED_MS;
}

/** The condition that follows from the store's answer. */
export function outcomeOf(check: DestinationCheck): TestOutcome {
  const type = CONDITION.validated;
  if (check.kind === 'usable')
    return {
      condition: { type, status: 'True', reason: REASON.usable, message: permissionText(check) },
      testAgainMs: RETEST_USABLE_MS,
    };
  const message = `${check.message}: ${check.advice}`;
  return check.retryable
    ? {
        condition: { type, status: 'False', reason: REASON.unreachable, message },
        testAgainMs: RETEST_UNREACHABLE_MS,
      }
    : {
        condition: { type, status: 'False', reason: REASON.refused, message },
        testAgainMs: RETEST_REFUSED_MS,
      };
}

function permissionText(check: Extract<DestinationCheck, { kind: 'usable' }>): string {
  const missing = [
    ...(check.canDelete ? [] : ['delete objects (the test object stays under tmp/)']),
    ...(check.canRead ? [] : ['read objects (sizes of files cannot be verified)']),
  ];
  const written =
    missing.length === 0
      ? 'a test object was written and removed'
      : `a test object was written; not permitted: ${missing.join(', ')}`;
  return check.isEncryptionUnconfirmed
    ? `${written}; the store did not confirm serverSideEncryption: it may have ignored it`
    : written;
}

export type DestinationCaches = Pick<Caches, 'destinations' | 'exports' | 'workspaces'>;

const IN_USE_LOOK_MS = 60_000;

/** Tests each destination by writing to it, whenever it or its credentials changed. */
export class DestinationReconciler {
  readonly #allowPrivateEndpoints: boolean;
  readonly #status: StatusWriter;
  /** Destinations to which an attempt failed since their last test. A restart forgets them; the next failure is soon. */
  readonly #suspects = new Set<string>();

  constructor(
    private readonly caches: DestinationCaches,
    private readonly client: KubeClient,
    private readonly clock: Clock,
    { allowPrivateEndpoints = false }: Pick<PlatformSettings, 'allowPrivateEndpoints'>,
  ) {
    this.#allowPrivateEndpoints = allowPrivateEndpoints;
    this.#status = new StatusWriter(client);
  }

  /** An attempt to write to a destination failed: its next pass tests it, whatever its last test found. */
  suspect(key: ObjectKey): void {
    this.#suspects.add(keyText(key));
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.caches.destinations.find(key);
    if (!found || isDeleting(found)) {
      this.#suspects.delete(keyText(key));
      return found ? await this.#release(found) : done();
    }
    const ref = RESOURCES.BulkExportDestination;
    const held = await addFinalizer(this.client, ref, found, FINALIZER.destination);
    const destination = await ensureId(this.client, ref, held, this.caches.destinations);
    const secret = await this.#findSecret(destination);
    const workspace = workspaceOf(this.caches.workspaces, key.namespace);
    const ground: TestGround = {
      secret: secret?.metadata,
      allowPrivateEndpoints: this.#allowPrivateEndpoints,
      allowEnvironmentCredentials: workspace?.spec.allowEnvironmentCredentials === true,
      testRequest: destination.metadata.annotations?.[ANNOTATION.testRequest],
    };
    const hash = testedHash(destination.spec.config, ground);
    const untilLook = untilSecretLook(destination.spec.credentialsSecretRef, secret);
    // one that is missing is waited for
    const lookMs =
      secret && untilLook !== undefined
        ? pacedLook(untilLook, this.caches.destinations.list().length)
        : untilLook;
    const isSuspect = this.#suspects.has(keyText(key));
    const waitMs = untilNextTest(destination, hash, this.clock.now(), isSuspect);
    if (waitMs !== 0) {
      await this.#confirm(destination);
      return soonest(waitMs, lookMs);
    }
    this.#suspects.delete(keyText(key));
    const { condition, testAgainMs } = await this.#test(destination, secret, workspace);
    await this.#report(destination, condition, hash);
    return soonest(testAgainMs, lookMs);
  }

  /** Exports that have not ended keep it, unless it is deleted by force. Their changes wake it. */
  async #release(destination: BulkExportDestination): Promise<Result> {
    if (finalizerStep(destination, FINALIZER.destination) === 'gone') return done();
    const { namespace = '' } = destination.metadata;
    const use = isDeletedByForce(destination)
      ? undefined
      : destinationUse(destination, this.caches.exports.list(namespace));
    if (use === undefined) {
      await removeFinalizer(this.client, RESOURCES.BulkExportDestination, destination, FINALIZER.destination);
      return done();
    }
    const { status } = destination;
    const message = `${use}; it is deleted once these have ended: wait, cancel them or give schedules another destination, or annotate it with ${ANNOTATION.forceDeletion}=true`;
    await this.#report(
      destination,
      { type: CONDITION.inUse, status: 'True', reason: REASON.inUse, message },
      status?.testedHash ?? '',
      status?.testedAt,
    );
    return wait(REASON.inUse, IN_USE_LOOK_MS);
  }

  async #findSecret({ metadata, spec }: BulkExportDestination): Promise<Secret | undefined> {
    const { credentialsSecretRef } = spec;
    if (!credentialsSecretRef) return undefined;
    const namespace = metadata.namespace ?? '';
    return await this.client.find(SECRETS, { namespace, name: credentialsSecretRef.name });
  }

  async #test(
    { metadata, spec }: BulkExportDestination,
    secret: Secret | undefined,
    workspace: Workspace | undefined,
  ): Promise<TestOutcome> {
    const problem = prefixProblem(spec.config.prefix) ?? credentialsProblem(spec, secret, workspace);
    if (problem) return { condition: problem, testAgainMs: RETEST_REFUSED_MS };
    const { bucketName, prefix } = spec.config;
    const settings = storeSettings(spec.config, secret?.data, workspace?.spec.tenantId ?? '');
    const allowPrivateEndpoints = this.#allowPrivateEndpoints;
    // one object, however often it is tested: it stays where deleting is not permitted
    const name = metadata.uid === undefined ? {} : { name: metadata.uid };
    return outcomeOf(await testDestination({ ...settings, allowPrivateEndpoints }, bucketName, prefix, name));
  }

  /** A newer generation that changes nothing of the test needs no test, but should be seen to be handled. */
  async #confirm(destination: BulkExportDestination): Promise<void> {
    const { status } = destination;
    const validated = status?.conditions?.find(({ type }) => type === CONDITION.validated);
    if (!validated || status?.observedGeneration === destination.metadata.generation) return;
    const { lastTransitionTime: _, ...condition } = validated;
    await this.#report(destination, condition, status?.testedHash ?? '', status?.testedAt);
  }

  async #report(
    destination: BulkExportDestination,
    condition: ConditionDraft,
    hash: string,
    testedAt?: string,
  ): Promise<void> {
    const now = this.clock.now();
    const { generation } = destination.metadata;
    const status: BulkExportDestinationStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      testedHash: hash,
      testedAt: testedAt ?? now.toISOString(),
      conditions: conditionsOf(
        destination.status?.conditions,
        [condition],
        {
          needs: [CONDITION.validated],
          failures: [CONDITION.inUse],
          reason: REASON.usable,
          message: 'exports can be written',
        },
        generation,
        now,
        condition.type === CONDITION.inUse ? [CONDITION.validated] : [],
      ),
    };
    const written = await this.#status.apply(RESOURCES.BulkExportDestination, destination, status);
    await this.caches.destinations.seen(written);
  }
}

function soonest(...waits: readonly (number | undefined)[]): Result {
  const ms = Math.min(...waits.map((wait) => wait ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(ms) ? after(ms) : done();
}

function prefixProblem(prefix: string | undefined): ConditionDraft | undefined {
  const problem = prefix === undefined ? undefined : checkPrefix(prefix);
  if (problem === undefined) return undefined;
  return { type: CONDITION.validated, status: 'False', reason: REASON.refused, message: `prefix ${problem}` };
}

function credentialsProblem(
  { credentialsSecretRef }: BulkExportDestination['spec'],
  secret: Secret | undefined,
  workspace: Workspace | undefined,
): ConditionDraft | undefined {
  const message = credentialsSecretRef
    ? secretProblem(credentialsSecretRef.name, secret)
    : environmentProblem(workspace);
  if (message === undefined) return undefined;
  return { type: CONDITION.validated, status: 'False', reason: REASON.credentialsMissing, message };
}
