import { TerminalError, WaitingError } from '#lib/errors';
import { isAlreadyExists, isNotFound, type Informer, type KubeClient } from '#lib/kube';
import { buildGitJob, buildGitOutput, buildGitSecret, type PlatformSettings } from '#lib/manifests';
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
  type Pod,
  PODS,
  REASON,
  revisionBuildName,
  SECRETS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { findCommit } from '../git-remote/find-commit.js';
import {
  decideGitBuild,
  type GitBuildDecision,
  type GitBuildWorld,
  isBuildOver,
} from './decide-git-build.js';
import { findLogin } from './find-login.js';

/** What one build may use. */
export interface GitBuildLimits {
  readonly places: number;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly registry: string | undefined;
}

/** Takes what a pod left as an image and answers its reference. @throws TerminalError when it cannot be one */
export type TakeImage = (revision: AgentRevision, podUid: string) => Promise<string>;

export interface GitBuildTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly guard: AddressGuard;
  readonly limits: GitBuildLimits;
  readonly settings: PlatformSettings;
  readonly revisions: Pick<Informer<AgentRevision>, 'list'>;
  readonly jobs: Pick<Informer<Job>, 'find'>;
  readonly takeImage: TakeImage;
}

/** What a step found out; what it leaves out stays as it is. */
export type BuildFinding = Pick<AgentRevisionStatus, 'image' | 'repoCommitSha' | 'build'> & {
  readonly draft: Omit<ConditionDraft, 'type'>;
};

/** Writes a finding into the status of the revision. */
export type Report = (finding: BuildFinding) => Promise<void>;

const LOOK_MS = 2_000;
const QUEUE_LOOK_MS = 5_000;
/** A host that does not answer is asked for as long, from when the revision was made. */
const PATIENCE_MS = 900_000;
const JOB_LABEL = 'batch.kubernetes.io/job-name';

/** Builds revisions from git, one Job each: observe → decide → act → report. Carried on from the status after a crash. */
export class GitBuilds {
  readonly #tools: GitBuildTools;

  constructor(tools: GitBuildTools) {
    this.#tools = tools;
  }

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
      if (!(error instanceof WaitingError)) throw error;
      const { reason, message, delayMs } = error;
      const waitedMs = world.now.getTime() - Date.parse(revision.metadata.creationTimestamp ?? '');
      if (waitedMs > PATIENCE_MS) return await this.#fail(world, { reason, message }, report);
      await report({ draft: { status: 'Unknown', reason, message } });
      return wait(reason, delayMs);
    }
  }

  async #observe(revision: AgentRevision): Promise<GitBuildWorld> {
    const { client, clock, jobs, limits, revisions } = this.#tools;
    const { namespace = '', name } = revision.metadata;
    const key = { namespace, name: revisionBuildName(name) };
    const hasBegun = revision.status?.build !== undefined && !isBuildOver(revision);
    const job = jobs.find(key) ?? (hasBegun ? await client.find(JOBS, key) : undefined);
    const ofJob = { namespace, labelSelector: `${JOB_LABEL}=${key.name}` };
    return {
      revision,
      isSuperseded: revisions
        .list(namespace)
        .some(
          ({ spec }) =>
            spec.deploymentName === revision.spec.deploymentName && spec.number > revision.spec.number,
        ),
      job,
      pod: job && hasBegun ? (await client.list(PODS, ofJob)).items[0] : undefined,
      ahead: revisions.list().filter((one) => isAhead(one, revision)).length,
      places: limits.places,
      timeoutMs: limits.timeoutMs,
      now: clock.now(),
    };
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
      case 'skip':
        if (world.job) await this.#clear(revision);
        return done();
      case 'resolve': {
        const repoCommitSha = repeated?.status?.repoCommitSha ?? (await this.#resolve(revision));
        const message = `commit ${repoCommitSha} is waiting for its build`;
        await report({ repoCommitSha, draft: { status: 'Unknown', reason: REASON.buildQueued, message } });
        return after(0);
      }
      case 'queue':
        await report({ draft: { ...decision, status: 'Unknown', reason: REASON.buildQueued } });
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
        return await this.#collect(revision, decision.pod, report);
      case 'fail':
        return await this.#fail(world, decision, report);
      default:
        return decision satisfies never;
    }
  }

  async #resolve({ metadata, spec: { git } }: AgentRevision): Promise<string> {
    const { client, guard } = this.#tools;
    if (!git) throw new TerminalError(REASON.buildRefused, 'the revision names no repository');
    const { token, username = 'x-access-token', ca } = await findLogin(client, metadata.namespace ?? '', git);
    const remote = {
      url: git.repoUrl,
      ...(token === undefined ? {} : { login: { username, token } }),
      ...(ca === undefined ? {} : { ca }),
    };
    return await findCommit(remote, git.repoRef, guard);
  }

  async #start(revision: AgentRevision): Promise<void> {
    const { client, limits, settings } = this.#tools;
    const { namespace = '' } = revision.metadata;
    const { repoCommitSha: commit = '' } = revision.status ?? {};
    const { git } = revision.spec;
    const login = git ? await findLogin(client, namespace, git) : {};
    await ignoring(isAlreadyExists, client.create(SECRETS, buildGitSecret(revision, login)));
    const job = buildGitJob({ ...limits, revision, commit }, settings);
    await ignoring(isAlreadyExists, client.create(JOBS, job));
  }

  async #collect(revision: AgentRevision, pod: Pod, report: Report): Promise<Result> {
    await this.#keepOutput(revision, pod);
    const image = await this.#tools.takeImage(revision, pod.metadata.uid ?? '');
    const message = `image ${image} was built from commit ${revision.status?.repoCommitSha ?? ''}`;
    await report({ image, draft: { status: 'True', reason: REASON.image, message } });
    await this.#clear(revision);
    return done();
  }

  async #fail(
    { revision, pod }: GitBuildWorld,
    { reason, message }: { readonly reason: string; readonly message: string },
    report: Report,
  ): Promise<Result> {
    if (pod) await this.#keepOutput(revision, pod);
    await report({ draft: { status: 'False', reason, message } });
    await this.#clear(revision);
    return done();
  }

  async #keepOutput(revision: AgentRevision, pod: Pod): Promise<void> {
    const { client } = this.#tools;
    const outputs = await podOutput(client, [pod]);
    if (outputs.length > 0) await client.apply(CONFIG_MAPS, buildGitOutput(revision, outputs));
  }

  /** The Job with its pod, and the token. */
  async #clear(revision: AgentRevision): Promise<void> {
    const { client } = this.#tools;
    const key = { ...keyOf(revision), name: revisionBuildName(revision.metadata.name) };
    await ignoring(isNotFound, client.delete(SECRETS, key));
    await ignoring(isNotFound, client.delete(JOBS, key, { propagation: 'Background' }));
  }
}

/** Whether another build takes a place before this one: it has begun, or was asked for earlier. */
function isAhead(other: AgentRevision, own: AgentRevision): boolean {
  if (other.spec.source !== 'git_host' || isBuildOver(other)) return false;
  if (other.metadata.uid === own.metadata.uid || other.status?.repoCommitSha === undefined) return false;
  if (other.status.build !== undefined) return true;
  return ageOf(other) < ageOf(own);
}

function ageOf({ metadata }: AgentRevision): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}

async function ignoring(isExpected: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}
