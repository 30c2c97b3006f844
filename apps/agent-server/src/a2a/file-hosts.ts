import { type AddressGuard, hostOf, judgeHosts } from '#lib/outbound';
import type { Clock } from '#lib/time';
import { invalidParam } from './envelope.js';
import type { Part } from './task.js';

/** Limit per message: each is a question to name servers, asked on behalf of another client. */
const MAX_HOSTS = 32;

/**
 * Refuses files on hosts that users may not make the deployment call: graphs and models fetch what an address
 * leads to.
 * @throws A2aError `invalidParams` naming the part
 */
export async function requireFileHosts(
  parts: readonly Part[],
  guard: AddressGuard,
  clock: Clock,
): Promise<void> {
  const places = new Map<string, number>();
  parts.forEach((part, at) => {
    if (part.kind === 'file' && part.url !== undefined) places.set(hostOf(new URL(part.url)), at);
  });
  if (places.size === 0) return;
  const hosts = [...places.keys()];
  if (hosts.length > MAX_HOSTS)
    throw invalidParam('message.parts', `name files on more than ${MAX_HOSTS} hosts`);
  const refusals = await judgeHosts(hosts, guard, clock);
  refusals.forEach((refusal, at) => {
    const place = places.get(hosts[at] ?? '');
    if (refusal)
      throw invalidParam(`message.parts[${place}]`, `names a file that cannot be read: ${refusal.message}`);
  });
}
