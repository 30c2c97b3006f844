/** Archives of files as streams: POSIX tar (pax), read and written entry by entry. */
export { folderItems } from './folder-items.js';
export { readTar } from './read-tar.js';
export { noBody, type TarEntry, type TarItem } from './tar-entry.js';
export { writeTar } from './write-tar.js';
