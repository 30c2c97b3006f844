/** Every program of the platform, by the word that its logs and metrics carry. */
export const PROGRAMS = [
  'supervisor',
  'api',
  'controller',
  'embedded',
  'listener',
  'agent-server',
  'export-worker',
] as const;

export type Program = (typeof PROGRAMS)[number];
