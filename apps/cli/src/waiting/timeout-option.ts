import { parseDuration } from '#lib/time';

/** `--timeout`, for commands that wait. */
export const timeoutOption = (fallback: string) => ({
  flags: '--timeout <duration>',
  about: 'longest time to wait: 30s, 10m, 1h',
  fallback: parseDuration(fallback),
  shownFallback: fallback,
  parse: parseDuration,
});
