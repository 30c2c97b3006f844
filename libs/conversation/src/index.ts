/** Messages in states, inputs and outputs, read for terminals and pages. */
export { answerLine, askedLine } from './spoken.js';
export { contentText, type Message, readMessages, type Speaker } from './read-messages.js';

/** A talk with an agent, and the questions that it waits with. */
export {
  type Answer,
  Conversation,
  type ConversationParts,
  type Happening,
  type Saying,
} from './conversation.js';
export {
  actionsOf,
  actionText,
  type Decision,
  type Question,
  questionText,
  renderDecisions,
  resumeAll,
  resumeOf,
} from './question.js';
