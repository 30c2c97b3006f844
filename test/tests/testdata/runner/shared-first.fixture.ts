import { loads } from './counted.js';

it(`is file ${++loads.count} of its process`, () => undefined);
