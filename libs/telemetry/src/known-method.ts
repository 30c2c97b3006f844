const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Method for labels: one that no server supports is `other`. */
export function knownMethod(method: string | undefined): (typeof METHODS)[number] | 'other' {
  return METHODS.find((known) => known === method) ?? 'other';
}
