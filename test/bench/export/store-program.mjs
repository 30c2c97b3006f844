// An object store in a process of its own: REPOSITORY FOLDER for the embedded one, nothing for one that keeps nothing. Sends
// its address by IPC, and ends with that.
import { join } from 'node:path';
import { startDiscardingStore } from './discarding-store.mjs';

const [repository, folder] = process.argv.slice(2);

async function startEmbeddedStore() {
  const load = (name) => import(join(repository, 'dist/libs', name, 'src/index.js'));
  const [{ startObjectStore }, { createLogger }] = await Promise.all(
    ['embedded-object-store', 'telemetry'].map(load),
  );
  return startObjectStore({
    ...{
      folder,
      host: '127.0.0.1',
      port: 0,
      log: createLogger('bench', 'error'),
      buckets: ['exports', 'lake'],
    },
    ...{ accessKeyId: process.env.ACCESS_KEY_ID, secretAccessKey: process.env.SECRET_ACCESS_KEY },
  });
}

const store = await (folder ? startEmbeddedStore() : startDiscardingStore());
process.once('disconnect', async () => {
  await store.stop();
  process.exit(0);
});
process.send(store.endpoint);
