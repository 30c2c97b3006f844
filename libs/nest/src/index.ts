export { provided, type Token } from './provided.js';
export { Tick, type TickMethod } from './ticks.js';
export { Ticks } from './ticks.js';

export { NestLog } from './nest-log.js';
