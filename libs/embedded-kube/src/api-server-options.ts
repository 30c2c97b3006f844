import type { AuditLog } from '#lib/audit-log';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { Readable } from 'node:stream';
import type { NamespaceQuota } from './store/namespace-quota.js';

/** Request to a node when a client reads a pod's log. */
export interface NodeLogRequest {
  readonly nodeName: string;
  /** Address the node reports in its status (InternalIP, else Hostname). */
  readonly address: string;
  /** `status.daemonEndpoints.kubeletEndpoint.Port` of the node. */
  readonly port: number;
  /** `/containerLogs/NAMESPACE/POD/CONTAINER?…`, as a kubelet understands it. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** The node's answer: the log as a stream of bytes, or an error text with the node's HTTP status. */
export interface NodeLogAnswer {
  readonly status: number;
  readonly body: Readable;
}

/** Opens a log on a node. The default dials `https://ADDRESS:PORT` with a client certificate of the cluster's CA. */
export type NodeLogDialer = (request: NodeLogRequest) => Promise<NodeLogAnswer>;

export interface ApiServerOptions {
  /** Database of the API server's own; its tables are made on the first start. */
  readonly databaseUri: string;
  /** Default `127.0.0.1`. */
  readonly listenHost?: string;
  /** 0 picks a free port; see `ApiServer.port`. */
  readonly port: number;
  /** Folder of `ca.key`, `ca.crt`, `service-account.key` and `encryption.key`, each made (0600) on the first start. */
  readonly pkiFolder: string;
  readonly clock?: Clock;
  /** Log in which writes are recorded; absent: writes are not recorded. */
  readonly audit?: AuditLog;
  readonly log: Logger;
  readonly nodeLogDialer?: NodeLogDialer;
  /** Maximum number of changes that a watch can be behind before it gets 410 Gone; default 5000. */
  readonly historyChanges?: number;
  /** Limits of a namespace; absent: any number of objects. */
  readonly quota?: NamespaceQuota;
}

/** Identity in a kubeconfig. */
export type KubeIdentity =
  | {
      readonly kind: 'certificate';
      /** User name, for a node `system:node:NAME`. */
      readonly user: string;
      /** Groups, for a node `system:nodes`; `system:masters` may do everything. */
      readonly groups: readonly string[];
    }
  | {
      readonly kind: 'service-account';
      readonly namespace: string;
      /** The ServiceAccount must exist: the token carries its uid. */
      readonly name: string;
      /** Default ten years: the file is beside the key that could make another. */
      readonly expirationSeconds?: number;
    };

export interface KubeconfigOptions {
  /** Name of context, cluster and user; default `agentplane`. */
  readonly context?: string;
  /** Namespace of the context. */
  readonly namespace?: string;
}

/** A certificate of the cluster's CA with its private key, both PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** An embedded Kubernetes API server. It keeps its objects in Postgres and is the only writer of its database. */
export interface ApiServer {
  readonly name: 'kube-apiserver';
  /** The port it listens on; known after `start`. */
  readonly port: number;
  /** `https://HOST:PORT`; known after `start`. */
  readonly url: string;
  /** Resolves when requests are served. Throws when the database has another owner. */
  start(): Promise<void>;
  /** Ends watches, answers requests in flight, and gives the database back. */
  stop(): Promise<void>;
  /** PEM of the cluster's CA. */
  caCertificate(): Promise<string>;
  /** Kubeconfig (YAML, CA and credentials inline) of `system:masters`. Valid before and after `start`. */
  adminKubeconfig(options?: KubeconfigOptions): Promise<string>;
  /** Kubeconfig (YAML, CA and credentials inline) of another identity. Only after `start`. */
  kubeconfigFor(identity: KubeIdentity, options?: KubeconfigOptions): Promise<string>;
  /** A serving certificate of the cluster's CA for these DNS names and IP addresses (a node's log endpoint). */
  issueServingCertificate(names: readonly string[]): Promise<IssuedCertificate>;
}
