// Generated from crds/ by `npm run generate`. Do not edit.
import type { ObjectMeta } from '../object-meta.js';
import type { Condition, DestinationConfig, LocalObjectReference } from './shared.js';

/** Where the files go and with which credentials. */
export interface BulkExportDestinationSpec {
  /** Name for people. */
  readonly displayName?: string;
  /** Kind of destination. */
  readonly type: 'object_store';
  /** Where the files go. */
  readonly config: DestinationConfig;
  /** Secret with access_key_id, secret_access_key and perhaps session_token; absent for the credentials of the platform, where the Workspace sets allowEnvironmentCredentials. */
  readonly credentialsSecretRef?: LocalObjectReference;
}

/** What is known about it; written by the platform. */
export interface BulkExportDestinationStatus {
  /** Hash of the settings and credentials that were tested last. */
  readonly testedHash?: string;
  /** When it was tested last. */
  readonly testedAt?: string;
  /** The newest generation of the spec that was fully handled. */
  readonly observedGeneration?: number;
  /** What is known about the resource, one fact each, of the types Validated, InUse and Ready. Their reasons are explained in docs/reference/bulk-export-destination.md. */
  readonly conditions?: readonly Condition[];
}

/** A bucket that exports are written to. */
export interface BulkExportDestination {
  readonly apiVersion: 'agentplane.dev/v1alpha1';
  readonly kind: 'BulkExportDestination';
  readonly metadata: ObjectMeta;
  readonly spec: BulkExportDestinationSpec;
  readonly status?: BulkExportDestinationStatus;
}
