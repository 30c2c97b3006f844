export { Tick, type TickMethod } from './tick.js';
export { Ticks } from './ticks.js';
