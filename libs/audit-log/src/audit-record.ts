/** Actor of an audited action. */
export type AuditActor =
  | {
      readonly kind: 'api-key';
      /** Public part of the key. */
      readonly id: string;
      readonly name?: string;
      /** Metadata name of the deployment whose own key it is. */
      readonly deployment?: string;
      readonly scope: string;
      readonly tenant: string;
    }
  | { readonly kind: 'operator-key'; readonly tenant: string }
  /** The key opened nothing, or was not the one of the tenant that was named. */
  | { readonly kind: 'refused-key' }
  | {
      readonly kind: 'kubernetes';
      readonly user: string;
      readonly groups: readonly string[];
      /** User that the request asked to act as. */
      readonly impersonates?: string;
    };

/** Action and its object; names and ids only, no bodies and no values of queries. */
export interface AuditAction {
  /** `POST`, for Kubernetes its verb. */
  readonly verb: string;
  /** Template of the route, or group and resource of Kubernetes. */
  readonly target: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Ids in the path, and the id of what was made. */
  readonly ids?: Readonly<Record<string, string>>;
  /** Kubernetes only tried it. */
  readonly isDryRun?: boolean;
}

/** One line of the audit log. */
export interface AuditRecord {
  readonly program: string;
  readonly request: string;
  readonly actor: AuditActor;
  readonly action: AuditAction;
  readonly source: { readonly address?: string; readonly userAgent?: string };
  readonly outcome: {
    readonly status: number;
    readonly reason?: string;
    /** Members of the body that were ignored, without their values. */
    readonly ignored?: string;
  };
}

const MAX_TEXT = 200;

/** A text of the caller's, short enough for a line. */
export function shortened(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
