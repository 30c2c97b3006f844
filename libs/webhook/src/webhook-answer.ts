/** The receiver wants no more calls. */
const GONE = 410;

/** Result of a call at its receiver. */
export type WebhookAnswer =
  | { readonly kind: 'accepted' }
  /** @property isFinal another try changes nothing */
  | { readonly kind: 'refused'; readonly why: string; readonly isFinal: boolean };

/** Meaning of a status. @param who answered it, in a sentence */
export function answerOf(status: number, who: string): WebhookAnswer {
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  const isRedirect = status >= 300 && status < 400;
  const why = `${who} answered ${status}${isRedirect ? '; redirects are not followed' : ''}`;
  return { kind: 'refused', why, isFinal: status === GONE };
}
