import { readFile } from 'node:fs/promises';
import type { Clock } from '#lib/time';
import type { KubeAuthorization } from './kube-connection.js';

/** Bound tokens live for an hour and are rewritten at 80 % of it. */
const REREAD_MS = 60_000;

/** A token in a file that the kubelet renews; read again once a minute. */
export function tokenFile(path: string, clock: Clock): KubeAuthorization {
  let known: { header: string; readAtMs: number } | undefined;
  return {
    async authorization() {
      const now = clock.monotonicMs();
      if (!known || now - known.readAtMs >= REREAD_MS)
        known = { header: `Bearer ${(await readFile(path, 'utf8')).trim()}`, readAtMs: now };
      return known.header;
    },
  };
}
