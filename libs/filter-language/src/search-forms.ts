/** Characters that clients write as `\uXXXX`, if they keep to ASCII. */
const BEYOND_ASCII = /[\u007f-\uffff]/g;

/**
 * Forms of a text in JSON text: the way JavaScript writes it, and the way Python does by default. One form if
 * they are the same.
 */
export function searchForms(text: string): readonly string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return ascii === plain ? [plain] : [plain, ascii];
}
