import { attackAgents, openAgents } from './agent-matrix.js';
import { type Arena, openArena } from './arena.js';
import { attackKubernetes } from './kube-attacks.js';
import { attackObjectStore } from './object-store-attacks.js';
import { attackPostgres } from './postgres-attacks.js';
import { attackRest, openRest } from './rest-matrix.js';

/**
 * One started platform, two tenants, and every attack of this folder against it: a start for each file would take
 * longer than the attacks do.
 */
let arena: Arena;
const find = (): Arena => arena;

beforeAll(async () => {
  arena = await openArena();
}, 300_000);

afterAll(() => arena.stop(), 60_000);

attackRest(find);
attackAgents(find);
attackKubernetes(find);
attackObjectStore(find);
attackPostgres(find);

// deletes, at last, what the attacks were about
openAgents(find);
openRest(find);
