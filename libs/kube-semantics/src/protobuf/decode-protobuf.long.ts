import { decodeProtobuf } from './decode-protobuf.js';

test('a list and a map take time that grows with their length', () => {
  const field = (number: number, bytes: Buffer): Buffer => {
    const length: number[] = [];
    for (let left = bytes.length; ; left >>>= 7) {
      length.push(left < 0x80 ? left : (left & 0x7f) | 0x80);
      if (left < 0x80) break;
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
  };
  const keys = Array.from({ length: 60_000 }, (_, at) => Buffer.from(`k${at}`));
  const type = Buffer.concat([field(1, Buffer.from('v1')), field(2, Buffer.from('ConfigMap'))]);
  const metadata = Buffer.concat(keys.map((key) => field(14, key)));
  const map = [field(1, metadata), ...keys.map((key) => field(2, field(1, key)))];
  const body = Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, Buffer.concat(map))]);
  const startedMs = performance.now();
  const { data, metadata: decoded } = decodeProtobuf(body) as Record<string, Record<string, unknown>>;
  expect(Object.keys(data ?? {})).toHaveLength(keys.length);
  expect(decoded?.['finalizers']).toHaveLength(keys.length);
  // copied with each item it took a minute
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
