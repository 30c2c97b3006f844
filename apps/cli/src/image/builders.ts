/** Programs that build images, in the order in which they are looked for. */
export const BUILDERS = ['podman', 'docker', 'buildah'] as const;
export type Builder = (typeof BUILDERS)[number];
