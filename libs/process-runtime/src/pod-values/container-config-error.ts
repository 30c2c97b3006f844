/** A reference that cannot be resolved now; the pod waits with this text and tries again. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}
