/** Proxy of a Service: a port that leads to its ready pods, and holds requests while they sleep. */
export type { Endpoint } from './endpoint-choice.js';
export { sleepOf, type SleepingService } from './sleep-gate.js';
export type { WrittenHeaders } from './forward-http.js';
export { ServiceWay, type ServicePort } from './service-way.js';
export { ServiceListener, type ServiceListenerOptions } from './service-listener.js';
