import { attackAgents, openAgents } from './agent-matrix.js';
import { type Arena, openArena } from './arena.js';
import { attackWithBombs } from './bombs.js';
import { searchForSecrets } from './canaries.js';
import { attackKubernetes } from './kube-attacks.js';
import { attackObjectStore } from './object-store-attacks.js';
import { attackOutboundAddresses } from './outbound-addresses.js';
import { attackFromPods } from './pod-processes.js';
import { attackPostgres } from './postgres-attacks.js';
import { attackPages } from './page-matrix.js';
import { attackRest, openRest } from './rest-matrix.js';
import { attackWithSlowClients, type SlowClients, startSlowClients } from './slow-clients.js';

/**
 * One started platform, two tenants, and every attack of this folder against it: a start for each file would take
 * longer than the attacks do.
 */
let arena: Arena;
let slowClients: SlowClients;
const find = (): Arena => arena;

beforeAll(async () => {
  arena = await openArena();
  slowClients = startSlowClients(arena);
});

afterAll(() => arena.stop());

attackRest(find);
attackPages(find);
attackAgents(find);
attackKubernetes(find);
attackObjectStore(find);
attackPostgres(find);
attackOutboundAddresses(find);
attackFromPods(find);
attackWithBombs(find);
attackWithSlowClients(find, () => slowClients);
searchForSecrets(find);

// deletes, at last, what the attacks were about
openAgents(find);
openRest(find);
