const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** A method as labels have it: what nobody serves is `other`. */
export function knownMethod(method: string | undefined): (typeof METHODS)[number] | 'other' {
  return METHODS.find((known) => known === method) ?? 'other';
}
