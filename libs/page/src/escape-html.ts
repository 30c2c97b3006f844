const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text in an element or in a quoted attribute. Control characters, which HTML cannot hold, become U+FFFD. */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '\ufffd');
}
