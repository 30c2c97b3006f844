export { Backoff, type BackoffOptions } from './backoff.js';
export { keepProcessAlive, systemClock, type Clock } from './clock.js';
export { MS_PER_DAY, startOfUtcDay, utcDayName } from './utc-day.js';
