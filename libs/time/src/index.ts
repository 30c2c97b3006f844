export { Backoff, type BackoffOptions } from './backoff.js';
export { keepProcessAlive, systemClock, type Clock } from './clock.js';
export { parseDuration } from './duration.js';
export {
  dayOf,
  formatInstant,
  instantOf,
  isWithinYears,
  MICROS_PER_DAY,
  parseInstant,
  type Instant,
} from './instant.js';
