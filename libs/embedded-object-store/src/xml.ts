import { S3Error } from './s3-error.js';

const MAX_CODE_POINT = 0x10ffff;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
const NAMES = new Map(Object.entries(ESCAPES).map(([plain, escaped]) => [escaped, plain]));

function escape(text: string): string {
  // Control characters are not allowed in XML 1.0 otherwise; keys may contain them.
  return text.replace(/[&<>"']/g, (found) => ESCAPES[found] ?? found).replace(/[\x00-\x1f]/g, numeric);
}

function numeric(character: string): string {
  return `&#${character.charCodeAt(0)};`;
}

function unescape(text: string): string {
  return text.replace(/&(#x?[0-9a-fA-F]+|[a-z]+);/g, (whole, name: string) => {
    if (!name.startsWith('#')) return NAMES.get(whole) ?? whole;
    const code = name.startsWith('#x') ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    if (!(code <= MAX_CODE_POINT)) throw new S3Error('MalformedXML', `${whole} is not a character.`);
    return String.fromCodePoint(code);
  });
}

/** Content of an element: text, or elements in order; `undefined` leaves the element out. */
export type XmlContent = string | number | boolean | undefined | readonly XmlElement[];
export type XmlElement = readonly [name: string, content: XmlContent];

function render([name, content]: XmlElement): string {
  if (content === undefined) return '';
  const inner = typeof content === 'object' ? content.map(render).join('') : escape(String(content));
  return `<${name}>${inner}</${name}>`;
}

/** A document with one root element, in S3's namespace except for errors. */
export function xmlDocument(name: string, content: readonly XmlElement[]): string {
  const namespace = name === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}${namespace}>${content.map(render).join('')}</${name}>`;
}

/** The inner texts of all elements of that name, in order. Enough for the two flat documents that clients send. */
export function elementsOf(xml: string, name: string): string[] {
  const [open, close] = [`<${name}`, `</${name}>`];
  const found: string[] = [];
  // each search continues where the last one ended: a pattern would look through the rest for every element
  // without an end
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    at += open.length;
    if (!/[\s>]/.test(xml.charAt(at))) continue;
    const begin = xml.indexOf('>', at) + 1;
    const end = begin > 0 ? xml.indexOf(close, begin) : -1;
    if (end < 0) break;
    found.push(xml.slice(begin, end));
    at = end + close.length;
  }
  return found;
}

/** The text of the first element of that name. */
export function textOf(xml: string, name: string): string | undefined {
  const [first] = elementsOf(xml, name);
  return first === undefined ? undefined : unescape(first).trim();
}
