/** @own-process */
import { loads } from './counted.js';

it(`is alone as file ${++loads.count}`, () => undefined);
