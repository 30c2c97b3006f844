import type { UserLimits } from './user-requests.js';

/** Maximum numbers of requests, or of watches among them, in flight at once. */
export interface PotLimits {
  readonly users: UserLimits;
  readonly nodes: UserLimits;
  readonly proxy: UserLimits;
  /** Limits of listeners; those of one namespace are one holder. */
  readonly listeners: UserLimits & {
    /** A namespace has as many for each of its Listeners, and `most` in all. */
    readonly mostOfListener: number;
  };
}

/** Each costs some 70 KB until its handshake is over; with its other servers this process stays far below its descriptors. */
export const MAX_CONNECTIONS = 4_000;

/** Limits of all connections. The rest is for the platform's own programs, which have no limit. */
const REQUESTS: PotLimits = {
  users: { most: 400, mostOfAll: 1_200, leastOfEach: 40, keptForLeast: 600 },
  nodes: { most: 300, mostOfAll: 400, leastOfEach: 40, keptForLeast: 200 },
  proxy: { most: 100, mostOfAll: 100 },
  listeners: { most: 260, mostOfListener: 60, mostOfAll: 900, leastOfEach: 40, keptForLeast: 300 },
};

/**
 * Limits of watches. Each change of a kind is offered to all of its watches, while all other requests wait. A
 * controller needs one a kind, a node one of its pods, a listener fewer than ten. Watches are requests too:
 * each limit is lower than that of requests, so that others remain possible.
 */
export const WATCH_LIMITS: PotLimits = {
  users: { most: 200, mostOfAll: 1_000, leastOfEach: 20, keptForLeast: 300 },
  nodes: { most: 200, mostOfAll: 300, leastOfEach: 20, keptForLeast: 100 },
  proxy: { most: 50, mostOfAll: 50 },
  listeners: { most: 160, mostOfListener: 24, mostOfAll: 700, leastOfEach: 20, keptForLeast: 200 },
};

/** @param connections that the server takes at once */
export function requestLimits(connections = MAX_CONNECTIONS): PotLimits {
  return scaled(REQUESTS, connections / MAX_CONNECTIONS);
}

/** A body comes as slowly as its sender likes: as many wait for one, of each holder and of all, as leave half to the rest. */
export function bodyLimits(connections = MAX_CONNECTIONS): PotLimits {
  return scaled(REQUESTS, connections / MAX_CONNECTIONS / 2);
}

function scaled({ users, nodes, proxy, listeners }: PotLimits, part: number): PotLimits {
  const times = ({ most, mostOfAll, leastOfEach = 0, keptForLeast = 0 }: UserLimits): UserLimits => ({
    most: Math.floor(most * part),
    mostOfAll: Math.floor(mostOfAll * part),
    leastOfEach: Math.floor(leastOfEach * part),
    keptForLeast: Math.floor(keptForLeast * part),
  });
  return {
    users: times(users),
    nodes: times(nodes),
    proxy: times(proxy),
    listeners: {
      ...times(listeners),
      mostOfListener: Math.floor(listeners.mostOfListener * part),
    },
  };
}
