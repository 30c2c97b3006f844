const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_CODE_POINT = 0x10ffff;

/**
 * The inner texts of all elements of a name, in order, each when it is asked for. Enough for the flat
 * documents of stores, and no more: the author of the endpoint may answer text on which a full parser of XML
 * hangs for minutes, since that keeps the path of every element.
 */
export function* elementsOf(xml: string, name: string): Generator<string, void, void> {
  const [open, close] = [`<${name}`, `</${name}>`];
  // each search continues where the last one ended
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    at += open.length;
    if (!/[\s>]/.test(xml.charAt(at))) continue;
    const begin = xml.indexOf('>', at) + 1;
    const end = begin > 0 ? xml.indexOf(close, begin) : -1;
    if (end < 0) return;
    yield xml.slice(begin, end);
    at = end + close.length;
  }
}

/** The text of the first element of that name. */
export function textOf(xml: string, name: string): string | undefined {
  for (const found of elementsOf(xml, name)) return unescape(found).trim();
  return undefined;
}

function unescape(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]{1,6}|[a-z]{2,4});/g, (whole, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? whole;
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}
