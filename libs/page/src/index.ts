/** Pages of HTML for people: the document with its policy, and texts of others in it. */
export { escapeHtml } from './escape-html.js';
export { type Navigation, PAGE_HEADERS, renderDocument, renderTable, renderTime } from './page-document.js';
export { renderMessages, TextBudget } from './render-messages.js';
