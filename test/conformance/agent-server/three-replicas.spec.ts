import { testPostgres } from '#lib/testing';
import { checkConformance } from './conformance.js';
import { Replicas } from './replicas.js';

const postgres = testPostgres();
let replicas: Replicas;

beforeAll(async () => {
  replicas = await Replicas.start(postgres, 3);
});

afterAll(() => replicas?.stop());

checkConformance(() => replicas.target, ['guarded', 'tuned']);
