/** Object that a deployment names for its pods and may not have. */
export type RefusedObject =
  | {
      readonly kind: 'Secret' | 'PersistentVolumeClaim';
      readonly name: string;
      /** `reserved`: by its name it may be the platform's; `missing`: so it may, once there is one. */
      readonly why: 'platform' | 'reserved' | 'missing';
    }
  | { readonly kind: 'too-many'; readonly count: number };

/** Each is read once a minute, as long as the deployment exists. */
export const MAX_NAMED_SECRETS = 100;

/** The refusal as a sentence, the same in a condition and in an answer. */
export function refusedObjectText(refused: RefusedObject): string {
  if (refused.kind === 'too-many')
    return `the resource spec names ${refused.count} Secrets; name ${MAX_NAMED_SECRETS} at most`;
  const { kind, name, why } = refused;
  switch (why) {
    case 'platform':
      return `${kind} ${name} belongs to the platform and is given to no agent; name a ${kind} of your own`;
    case 'reserved':
      return `the name ${name} is one that the platform gives to a ${kind} of its own; choose another`;
    case 'missing':
      return `Secret ${name} does not exist, and the platform gives such names to Secrets of its own; create it before a deployment names it, or choose another name`;
    default:
      return why satisfies never;
  }
}
