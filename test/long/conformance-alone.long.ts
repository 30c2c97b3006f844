import { testPostgres } from '#lib/testing';
import { checkConformance } from '../conformance/agent-server/conformance.js';
import { Replicas } from '../conformance/agent-server/replicas.js';

const postgres = testPostgres();
let replicas: Replicas;

beforeAll(async () => {
  replicas = await Replicas.start(postgres, 1);
});

afterAll(() => replicas?.stop());

checkConformance(() => replicas.target, ['guarded', 'tuned']);
