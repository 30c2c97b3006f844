import type { AddressGuard } from '#lib/outbound';
import type { Clock } from '#lib/time';

/**
 * Time limit, longer than name servers take; a name that is not known by then is judged when it is called.
 */
const RESOLVE_MS = 2_000;

/** Judges hosts ahead of their calls, all at the same time: the refusal of each, undefined for one that may be called. */
export async function judgeHosts(
  hosts: readonly string[],
  guard: AddressGuard,
  clock: Pick<Clock, 'after'>,
): Promise<(Error | undefined)[]> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(RESOLVE_MS, () => resolve(undefined));
  try {
    return await Promise.all(
      hosts.map((host) =>
        Promise.race([tooLate, new Promise<Error | undefined>((judged) => guard.judgeAhead(host, judged))]),
      ),
    );
  } finally {
    cancel();
  }
}
