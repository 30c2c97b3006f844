// describe-layout.mjs FOLDER BASE-LAYERS: names the images of an OCI layout for containerd's import, and prints for each
// the compressed size of its layers above those of the base.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, baseLayers] = process.argv.slice(2);
const read = (path) => JSON.parse(readFileSync(join(folder, path), 'utf8'));
const index = read('index.json');
for (const image of index.manifests) {
  const name = image.annotations['org.opencontainers.image.ref.name'];
  image.annotations['io.containerd.image.name'] = name;
  const { layers } = read(join('blobs', ...image.digest.split(':')));
  const bytes = layers.slice(Number(baseLayers)).reduce((sum, { size }) => sum + size, 0);
  console.log(`${name} ${(bytes / 1e6).toFixed(1)} MB`);
}
writeFileSync(join(folder, 'index.json'), JSON.stringify(index));
