/** Answers of the trace service, whose messages have a number and a text each. */

const MAX_TEXT = 4_000;

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    const low = Number(left & 0x7fn);
    left >>= 7n;
    bytes.push(left > 0n ? low | 0x80 : low);
  } while (left > 0n);
  return Buffer.from(bytes);
}

function lengthPrefixed(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([field * 8 + 2]), varint(BigInt(bytes.length)), bytes]);
}

/** Field 1 is a number, field 2 a text. */
function numberAndText(number: number, text: string): Buffer {
  const bytes = Buffer.from(text.slice(0, MAX_TEXT).toWellFormed());
  return Buffer.concat([
    ...(number === 0 ? [] : [Buffer.from([0x08]), varint(BigInt(number))]),
    ...(bytes.length === 0 ? [] : [lengthPrefixed(2, bytes)]),
  ]);
}

/** `ExportTraceServiceResponse`; empty when every span was stored and there is no message. */
export function writeExportAnswer(rejectedSpans: number, errorMessage: string): Buffer {
  if (rejectedSpans === 0 && errorMessage === '') return Buffer.alloc(0);
  return lengthPrefixed(1, numberAndText(rejectedSpans, errorMessage));
}

/** `google.rpc.Status` */
export function writeStatus(code: number, message: string): Buffer {
  return numberAndText(code, message);
}
