/** A revision past the limit of its deployment's history, as the API server held it. */
export interface ArchivedRevision {
  /** Id in the API. */
  readonly id: string;
  readonly number: number;
  /** Name in the API. */
  readonly status: string;
  /** JSON of the resource. */
  readonly object: string;
}

/** Owner of the revisions. */
export interface RevisionOwner {
  readonly tenantId: string;
  /** Id in the API. */
  readonly deploymentId: string;
}

/** Conditions on archived revisions of a deployment. */
export interface RevisionSearch {
  /** Absent: any. */
  readonly status?: readonly string[] | undefined;
  /** Ids that are left out: those that the API server holds still. */
  readonly except: readonly string[];
  readonly offset: number;
  readonly limit: number;
}

/** Revisions past the limit of the history of their deployments, which the API server holds no longer. */
export interface RevisionArchive {
  /**
   * Stores a revision; repeating it replaces the stored one. Afterwards the oldest of the deployment are
   * dropped beyond 1,000, and the outputs of all but the newest 20 that have some.
   * @param outputs JSON of the last output of its containers and its build
   */
  store(owner: RevisionOwner, revision: ArchivedRevision, outputs: string | undefined): Promise<void>;
  find(owner: RevisionOwner, id: string): Promise<ArchivedRevision | undefined>;
  /** JSON of its last output; undefined when nothing is kept. */
  findOutputs(owner: RevisionOwner, id: string): Promise<string | undefined>;
  /** Revisions by number, newest first. */
  list(owner: RevisionOwner, search: RevisionSearch): Promise<readonly ArchivedRevision[]>;
  /** Ids among these that the archive has. */
  among(owner: RevisionOwner, ids: readonly string[]): Promise<readonly string[]>;
  /** Number of revisions beside these. */
  count(owner: RevisionOwner, except: readonly string[]): Promise<number>;
  /** Drops all of a deployment that is deleted. */
  forget(owner: RevisionOwner): Promise<void>;
}
