/** Messages in states, inputs and outputs, read for terminals and pages. */
export { answerLine, askedLine } from './spoken.js';
export { contentText, type Message, messageLines, readMessages, type Speaker } from './read-messages.js';

/** A talk with an agent, and the questions that it waits with. */
export {
  type Answer,
  assistantOfThread,
  assistantsOf,
  beginThread,
  Conversation,
  type ConversationParts,
  type Happening,
  newestThreads,
  NoMessagesError,
  refusalWords,
  type Saying,
  type ThreadValues,
} from './conversation.js';
export {
  actionsOf,
  actionText,
  type Decision,
  type Question,
  questionsOf,
  questionText,
  renderDecisions,
  resumeAll,
  resumeOf,
} from './question.js';
