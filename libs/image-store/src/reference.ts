/** Meaning of an image reference on one machine. */
export type ImageReference =
  | { readonly kind: 'platform'; readonly app: string; readonly version: string }
  | { readonly kind: 'local'; readonly name: string; readonly digest: string };

const PLATFORM = /^agentplane\/([a-z][a-z0-9-]*):([\w][\w.-]*)$/;
const LOCAL = /^local\/([a-z0-9][a-z0-9._-]*)@(sha256:[0-9a-f]{64})$/;

/** Names of images: what a registry would take as a repository's last part. */
export const IMAGE_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Parses `agentplane/APP:VERSION` and `local/NAME@sha256:HEX`; anything else is `undefined`. */
export function parseImageReference(text: string): ImageReference | undefined {
  const platform = PLATFORM.exec(text);
  if (platform) return { kind: 'platform', app: platform[1] ?? '', version: platform[2] ?? '' };
  const local = LOCAL.exec(text);
  if (local) return { kind: 'local', name: local[1] ?? '', digest: local[2] ?? '' };
  return undefined;
}

/** `local/NAME@sha256:HEX`: a reference that always means the same files. */
export function pinnedReference(name: string, digest: string): string {
  return `local/${name}@${digest}`;
}
