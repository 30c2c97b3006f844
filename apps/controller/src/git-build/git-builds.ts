import { errorText, TerminalError, WaitingError } from '#lib/errors';
import {
  type Informer,
  isAlreadyExists,
  isInvalid,
  isNotFound,
  isQuotaExceeded,
  type KubeClient,
} from '#lib/kube';
import {
  buildGitJob,
  buildGitOutput,
  buildGitSecret,
  type GitBuild,
  gitBuildPlace,
  type ImageRegistry,
  type PlatformSettings,
  revisionOfBuild,
} from '#lib/manifests';
import type { AddressGuard } from '#lib/outbound';
import { podOutput } from '#lib/pod-logs';
import { after, done, type Result, wait } from '#lib/reconcile';
import {
  type AgentRevision,
  type AgentRevisionStatus,
  type ConditionDraft,
  CONFIG_MAPS,
  type Job,
  JOBS,
  keyOf,
  type ObjectKey,
  type Pod,
  PODS,
  REASON,
  revisionBuildName,
  SECRETS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { CommitLooks } from '../git-remote/commit-looks.js';
import { findCommit } from '../git-remote/find-commit.js';
import {
  decideGitBuild,
  deploymentOf,
  findTurn,
  type GitBuildDecision,
  type GitBuildWorld,
  isBuilding,
  isBuildOver,
  longestPlaceMs,
} from './decide-git-build.js';
import { findKey } from './find-key.js';
import { findLogin, findRemote } from './find-login.js';

const BUILDING = 'building-from-git';
const DEPLOYMENT = 'deployment-of-revision';
const YES = 'yes';

/**
 * The revisions that decide the order of builds: those of deployments that build. Each waiting one asks every
 * few seconds, and would read all revisions of the machine otherwise.
 */
export class BuildingRevisions {
  constructor(private readonly revisions: Pick<Informer<AgentRevision>, 'byIndex' | 'addIndex'>) {
    revisions.addIndex(BUILDING, (one) => (isBuilding(one) ? [YES] : []));
    revisions.addIndex(DEPLOYMENT, (one) => [deploymentOf(one)]);
  }

  /** Revisions of this one's deployment, and of all deployments that build or wait. */
  around(own: AgentRevision): readonly AgentRevision[] {
    const deployments = new Set([own, ...this.revisions.byIndex(BUILDING, YES)].map(deploymentOf));
    return [...deployments].flatMap((one) => this.revisions.byIndex(DEPLOYMENT, one));
  }
}

/** Limits of builds. */
export interface GitBuildLimits {
  readonly places: number;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** The largest result. */
  readonly imageMb: number;
  readonly registry: string | undefined;
  readonly pythonIndex: string | undefined;
}

/** Takes what a pod left, or pushed, as an image and answers its reference. @throws TerminalError when it cannot be one */
export type TakeImage = (revision: AgentRevision, pod: Pod) => Promise<string>;

export interface GitBuildTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly guard: AddressGuard;
  /** Shared with the push reconciler: places and queues hold for all look-ups together. */
  readonly looks: CommitLooks;
  readonly limits: GitBuildLimits;
  readonly settings: PlatformSettings;
  readonly revisions: BuildingRevisions;
  readonly jobs: Pick<Informer<Job>, 'find' | 'list'>;
  /** Registry of a cluster; undefined on one machine. */
  readonly images: ImageRegistry | undefined;
  /** Undefined where there is neither an image store nor a registry: builds are refused. */
  readonly takeImage: TakeImage | undefined;
}

/** Findings of a step; absent fields stay unchanged. */
export type BuildFinding = Pick<AgentRevisionStatus, 'image' | 'repoCommitSha' | 'build'> & {
  /** The build that had begun has not, any more. */
  readonly isPutBack?: boolean;
  readonly draft: Omit<ConditionDraft, 'type'>;
};

/** Writes a finding into the status of the revision. */
export type Report = (finding: BuildFinding) => Promise<void>;

const LOOK_MS = 2_000;
const QUEUE_LOOK_MS = 5_000;
/** A host that does not answer is asked for as long, from when the revision was made. */
const PATIENCE_MS = 900_000;
/**
 * Time for which a build that could not begin lets others go first: longer than the pauses between its
 * attempts.
 */
const STUCK_MS = 900_000;
const JOB_LABEL = 'batch.kubernetes.io/job-name';

/** Builds revisions from git and from archives, one Job each: observe → decide → act → report. Carried on from the status after a crash. */
export class GitBuilds {
  /**
   * Times in milliseconds at which builds that could not begin count again, by uid. Lost with the process,
   * which tries them again.
   */
  readonly #stuck = new Map<string, number>();

  /** Uids of revisions whose Job and Secret do not exist any more. A crash, or a person, may leave one without the other. */
  readonly #cleared = new Set<string>();

  constructor(private readonly tools: GitBuildTools) {}

  /** @param repeated the revision that this one repeats: its commit is built again */
  async reconcile(
    revision: AgentRevision,
    repeated: AgentRevision | undefined,
    report: Report,
  ): Promise<Result> {
    const world = await this.#observe(revision);
    const decision = decideGitBuild(world);
    try {
      return await this.#act(world, decision, repeated, report);
    } catch (error) {
      if (error instanceof TerminalError) return await this.#fail(world, error, report);
      if (!(error instanceof WaitingError)) {
        if (decision.kind === 'begin') this.#pass(world);
        throw error;
      }
      const { reason, message, delayMs } = error;
      const waitedMs = world.now.getTime() - Date.parse(revision.metadata.creationTimestamp ?? '');
      if (waitedMs > PATIENCE_MS) return await this.#fail(world, { reason, message }, report);
      await report({ draft: { status: 'Unknown', reason, message } });
      return wait(reason, delayMs);
    }
  }

  async #observe(revision: AgentRevision): Promise<GitBuildWorld> {
    const { client, clock, jobs, limits, revisions, takeImage } = this.tools;
    const { places, timeoutMs } = limits;
    const key = this.#placeOf(revision);
    const hasBegun = revision.status?.build !== undefined && !isBuildOver(revision);
    const job = jobs.find(key) ?? (hasBegun ? await client.find(JOBS, key) : undefined);
    const ofJob = { namespace: key.namespace, labelSelector: `${JOB_LABEL}=${key.name}` };
    const now = clock.now();
    const turn = findTurn(revision, revisions.around(revision), {
      beganAfter: new Date(now.getTime() - longestPlaceMs(timeoutMs)),
      isStuck: ({ metadata: { uid = '' } }) => (this.#stuck.get(uid) ?? 0) > now.getTime(),
    });
    return {
      revision,
      job,
      ...turn,
      places,
      timeoutMs,
      now,
      pod: job ? (await client.list(PODS, ofJob)).items[0] : undefined,
      canTakeImages: takeImage !== undefined,
    };
  }

  /** Lets those behind it begin: its workspace may be too full to store that it did. */
  #pass({ revision, now }: GitBuildWorld): void {
    for (const [uid, until] of this.#stuck) if (until <= now.getTime()) this.#stuck.delete(uid);
    this.#stuck.set(revision.metadata.uid ?? '', now.getTime() + STUCK_MS);
  }

  async #act(
    world: GitBuildWorld,
    decision: GitBuildDecision,
    repeated: AgentRevision | undefined,
    report: Report,
  ): Promise<Result> {
    const { revision, now } = world;
    switch (decision.kind) {
      case 'finished':
        // its end was reported, and the controller ended before the rest
        if (this.#mayBeLeft(world)) await this.#settle(world);
        return done();
      case 'skip':
        if (this.#mayBeLeft(world)) await this.#clear(revision);
        return done();
      case 'resolve': {
        const repoCommitSha = repeated?.status?.repoCommitSha ?? (await this.#resolve(revision));
        if (repoCommitSha === undefined) return after(LOOK_MS);
        const message = `commit ${repoCommitSha} is waiting for its build`;
        await report({ repoCommitSha, draft: { status: 'Unknown', reason: REASON.buildQueued, message } });
        return after(0);
      }
      case 'queue':
        await report({ draft: { ...decision, status: 'Unknown', reason: REASON.buildQueued } });
        return after(QUEUE_LOOK_MS);
      case 'put-back':
        await report({
          isPutBack: true,
          draft: { ...decision, status: 'Unknown', reason: REASON.buildQueued },
        });
        // it would be the oldest in the queue again: others may be able to begin
        this.#pass(world);
        await this.#remove(revision, 'Foreground');
        return after(QUEUE_LOOK_MS);
      case 'begin':
        // before there is a Job: a controller that ends in between makes it later
        await report({
          build: { startedAt: now.toISOString() },
          draft: {
            status: 'Unknown',
            reason: REASON.awaitingBuild,
            message: 'waiting for the pod of the build',
          },
        });
        await this.#start(revision);
        return after(LOOK_MS);
      case 'ensure-job':
        await this.#start(revision);
        return after(LOOK_MS);
      case 'watch':
        await report({ draft: { status: 'Unknown', reason: decision.reason, message: decision.message } });
        return after(LOOK_MS);
      case 'collect':
        return await this.#collect(world, decision.pod, report);
      case 'fail':
        return await this.#fail(world, decision, report);
      default:
        return decision satisfies never;
    }
  }

  /** @returns undefined while its host is asked */
  async #resolve({ metadata, spec: { git } }: AgentRevision): Promise<string | undefined> {
    const { client, guard } = this.tools;
    if (!git) throw new TerminalError(REASON.buildRefused, 'the revision names no repository');
    const { uid = '', namespace = '' } = metadata;
    const subject = `${git.repoUrl} ${git.repoRef ?? 'HEAD'}`;
    return await this.tools.looks.ask({ uid, namespace, subject }, async () => {
      const remote = await findRemote(client, namespace, git);
      return await findCommit(remote, git.repoRef, guard);
    });
  }

  /** @throws TerminalError when the namespace can hold no Secret or Job more: it would keep a place until it can */
  async #start(revision: AgentRevision): Promise<void> {
    const { client, limits, settings, images } = this.tools;
    const { namespace = '' } = revision.metadata;
    const { repoCommitSha: commit } = revision.status ?? {};
    const { git } = revision.spec;
    const login = git ? await findLogin(client, namespace, git) : await findKey(client, revision);
    const build = { ...limits, revision, commit, login, images };
    const job = buildGitJob(build, settings);
    try {
      if (images) await this.#startInCluster(build, job, images);
      else {
        await ignoring(isAlreadyExists, client.create(SECRETS, buildGitSecret(build)));
        await ignoring(isAlreadyExists, client.create(JOBS, job));
      }
    } catch (error) {
      if (!isQuotaExceeded(error) && !isInvalid(error)) throw error;
      throw new TerminalError(REASON.buildFailed, `the build cannot begin: ${errorText(error)}`);
    }
  }

  /** The Job first, since it owns the Secret: a revision that is deleted meanwhile leaves neither for long. */
  async #startInCluster(build: GitBuild, job: Job, { namespace, pushSecret }: ImageRegistry): Promise<void> {
    const { client } = this.tools;
    if (pushSecret !== undefined && !(await client.find(SECRETS, { namespace, name: pushSecret })))
      throw new WaitingError(
        REASON.awaitingBuild,
        `Secret ${pushSecret} with the login of the registry does not exist in namespace ${namespace}; create it there`,
        QUEUE_LOOK_MS,
      );
    await ignoring(isAlreadyExists, client.create(JOBS, job));
    const made = await client.get(JOBS, keyOf(job));
    await ignoring(isAlreadyExists, client.create(SECRETS, buildGitSecret(build, made)));
  }

  /** Ends what is left of the build of a revision that does not exist any more: nothing owns it across namespaces. */
  async abandon(key: ObjectKey): Promise<void> {
    const { client, jobs, images } = this.tools;
    if (!images) return;
    for (const job of jobs.list(images.namespace)) {
      const { namespace, name } = revisionOfBuild(job) ?? {};
      if (namespace !== key.namespace || name !== key.name) continue;
      await ignoring(isNotFound, client.delete(JOBS, keyOf(job), { propagation: 'Background' }));
    }
  }

  #placeOf(revision: AgentRevision): Required<ObjectKey> {
    return gitBuildPlace(revision, this.tools.images);
  }

  async #collect(world: GitBuildWorld, pod: Pod, report: Report): Promise<Result> {
    const { revision } = world;
    const image = await this.tools.takeImage?.(revision, pod);
    if (image === undefined) throw new Error('the controller has neither an image store nor a registry');
    const { repoCommitSha: commit } = revision.status ?? {};
    const message = `image ${image} was built from ${commit === undefined ? 'the uploaded archive' : `commit ${commit}`}`;
    return await this.#end(
      world,
      { image, draft: { status: 'True', reason: REASON.image, message } },
      report,
    );
  }

  async #fail(
    world: GitBuildWorld,
    { reason, message }: { readonly reason: string; readonly message: string },
    report: Report,
  ): Promise<Result> {
    return await this.#end(world, { draft: { status: 'False', reason, message } }, report);
  }

  /** The report comes first: what follows may be refused, and a build that is over gives its place back. */
  async #end(world: GitBuildWorld, finding: BuildFinding, report: Report): Promise<Result> {
    await report(finding);
    const problem = await this.#settle(world);
    if (problem !== undefined) {
      const message = `${finding.draft.message}; its log could not be kept: ${problem}`;
      await report({ ...finding, draft: { ...finding.draft, message } });
    }
    return done();
  }

  /** Keeps the log, and clears away. @returns why the log could not be kept */
  async #settle({ revision, pod }: GitBuildWorld): Promise<string | undefined> {
    let problem: string | undefined;
    try {
      if (pod) await this.#keepOutput(revision, pod);
    } catch (error) {
      problem = errorText(error);
    }
    await this.#clear(revision);
    return problem;
  }

  /** Once: after it has been cleared away, less of it is found. */
  async #keepOutput(revision: AgentRevision, pod: Pod): Promise<void> {
    const { client } = this.tools;
    const key = { ...keyOf(revision), name: revisionBuildName(revision.metadata.name) };
    if (await client.find(CONFIG_MAPS, key)) return;
    const outputs = await podOutput(client, [pod]);
    if (outputs.length > 0) await client.apply(CONFIG_MAPS, buildGitOutput(revision, outputs));
  }

  /** Secrets are read by their names alone, so each build is asked for once in the life of a process. */
  #mayBeLeft({ revision: { metadata, status }, job }: GitBuildWorld): boolean {
    if (job) return true;
    return status?.build !== undefined && !this.#cleared.has(metadata.uid ?? '');
  }

  /** The Job with its pod, and the token. */
  async #clear(revision: AgentRevision): Promise<void> {
    await this.#remove(revision, 'Background');
    this.#cleared.add(revision.metadata.uid ?? '');
  }

  /** @param propagation `Foreground`: the Job exists until its pod does not, which another Job of this name would take */
  async #remove(revision: AgentRevision, propagation: 'Background' | 'Foreground'): Promise<void> {
    const { client } = this.tools;
    const key = this.#placeOf(revision);
    await ignoring(isNotFound, client.delete(SECRETS, key));
    await ignoring(isNotFound, client.delete(JOBS, key, { propagation }));
  }
}

async function ignoring(isExpected: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}
