export { parseExposition, type ExpositionFamily } from './exposition.js';
export { FakeClock } from './fake-clock.js';
export { freePort } from './free-port.js';
export { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './otlp-receiver.js';
export { temporaryFolder } from './temporary-folder.js';
export { hasRealKubernetes, testApiServer, type TestApiServer } from './test-api-server.js';
export { testEmbeddedKube } from './test-embedded-kube.js';
export { testPostgres, type FreshDatabase, type TestPostgres } from './test-postgres.js';
export { waitFor, type WaitOptions } from './wait-for.js';
