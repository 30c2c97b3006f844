/** Hooks of React need globals of a browser in the whole process. @own-process */
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

it('has a row with an answer for every operation', async () => {
  expect(await replicas.unanswered()).toEqual([]);
});
