/** Login of a role at a server; its database has the same name as the role. */
export interface DatabaseLogin {
  readonly adminUri: string;
  readonly name: string;
  readonly password: string;
}

export interface DeploymentDatabase {
  /** Secret. */
  readonly uri: string;
  /** Most connections of the role: as asked for, or what a role may have of the server where that is fewer. */
  readonly connections: number;
}

/** Databases of deployed agents, on a server where `adminUri` may create databases and roles. */
export interface DeploymentDatabases {
  /**
   * Makes role and database `name` (same name for both) where missing and sets the role's password, so that the
   * returned URI works. Hand in the password that a Secret already holds: without one a new random one is set, which
   * locks out every client that still uses the old one.
   */
  ensure(options: {
    readonly adminUri: string;
    /** True when the server is used by others too, who keep a part of its connections; default true. */
    readonly isShared?: boolean;
    readonly name: string;
    /**
     * Workspace of the deployment, by any lasting name: roles of one workspace share its part of the
     * connections.
     */
    readonly workspace: string;
    readonly password?: string;
    /** Most connections of the role at a time; default 20. */
    readonly maxConnections?: number;
  }): Promise<DeploymentDatabase>;
  /** Removes database and role, connected or not; idempotent. */
  drop(options: { readonly adminUri: string; readonly name: string }): Promise<void>;
}
