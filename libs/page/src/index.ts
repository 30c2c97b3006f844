/** Pages of HTML for people: the document with its policy, and texts of others in it. */
export { escapeHtml } from './escape-html.js';
export {
  copyButton,
  type Navigation,
  PAGE_HEADERS,
  renderDocument,
  renderState,
  renderTable,
  renderTime,
} from './page-document.js';
export { renderMessages, TextBudget } from './render-messages.js';
export {
  renderBeginForm,
  renderTalk,
  renderThreadState,
  renderThreadTable,
  sayingOf,
  streamTalk,
  TALK_LINES,
} from './talk.js';
