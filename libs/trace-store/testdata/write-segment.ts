import { ParquetWriter } from '#lib/parquet';
import { CopyBinaryReader, CopyBinaryWriter } from '#lib/postgres';
import { PAYLOAD_FIELDS, type RunPayloads } from '../src/run/stored-run.js';

type WriterOptions = Partial<ConstructorParameters<typeof ParquetWriter>[0]>;

/** A file of a sealed day, with a light column alone beside the payloads. */
export async function segmentFile(
  rows: readonly RunPayloads[],
  options: WriterOptions = {},
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const light = { name: 'name', type: 'text', nullable: false, field: 0, dictionary: true } as const;
  const payloads = PAYLOAD_FIELDS.map((name, at) => {
    const field = at + 1;
    return { name, type: 'text' as const, nullable: true, field, statistics: false, longPages: true };
  });
  const writer = new ParquetWriter({
    columns: [light, ...payloads],
    compression: 'zstd',
    sink: async (bytes) => void pieces.push(Buffer.from(bytes)),
    ...options,
  });
  const reader = new CopyBinaryReader(PAYLOAD_FIELDS.length + 1);
  const copy = new CopyBinaryWriter();
  for (const [at, row] of rows.entries()) {
    copy.row(PAYLOAD_FIELDS.length + 1).text(`run ${at % 3}`);
    for (const field of PAYLOAD_FIELDS) copy.bytes(row[field]);
  }
  for (const chunk of copy.finish()) {
    reader.push(chunk);
    while (reader.next()) {
      writer.add(reader);
      if (writer.isBusy) await writer.ready();
    }
  }
  await writer.end();
  return Buffer.concat(pieces);
}
