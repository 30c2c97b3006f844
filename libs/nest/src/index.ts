export { NestLog } from './nest-log.js';
