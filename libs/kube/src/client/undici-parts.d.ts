/** The two parts of undici that are used, by their files: its index loads caches, mocks and proxies, 6 MB in every process. */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  /** What `dispatcher.request(options)` is, without the index that makes it a method. */
  function request(this: Dispatcher, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  export { request as default };
}
