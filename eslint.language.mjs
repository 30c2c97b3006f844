// The part of the house's language that a linter can hold: words of messages, names of tests. The rest is read in review.

/**
 * Words of people for programs. `nobody` as a whole value or in quotes is the account of that name.
 */
const PERSONS =
  '\\b((?<!")(?!^nobody$)nobody|whoever|somebody|for ever|be had|(is|are|was|were|will be|be) (gone|away|told)|(is|are|was|were) there|tells?|told)\\b';
export const plainWords = [
  {
    selector: `Literal[value=/${PERSONS}/i]`,
    message: 'Say what failed, what was found and what to do, with verbs of machines.',
  },
  {
    selector: `TemplateElement[value.raw=/${PERSONS}/i]`,
    message: 'Say what failed, what was found and what to do, with verbs of machines.',
  },
];
export const testNames = [
  {
    selector:
      ":matches(CallExpression[callee.name='it'], CallExpression[callee.callee.property.name='each']) > Literal:first-child[value=/^(that|which|who|whose|with|without|of|in|on|at|to|for|from|by|as|when|where|while|after|before|are|have|do|is|make|take|show|say|keep|give|go|come|stay|end|begin|hold|leave|let|need|read|write|run|wait|answer|refuse|accept|find|see|know|tell)\\b/]",
    message:
      "A test is named by a whole predicate in the third person: it('refuses a tag that is not a string').",
  },
  ...plainWords,
];

/** Words with which a fragment begins: a comment is a sentence, or a noun phrase with its noun. */
const FRAGMENT = /^(of|what|whatever|who|whoever|whose|those|as|by|with|whether|nobody)\b/i;

/** Text of a comment without its marks; a line comment below another one continues it. */
function beginningOf(comment, before) {
  const isContinued =
    comment.type === 'Line' && before?.type === 'Line' && before.loc.end.line === comment.loc.start.line - 1;
  return isContinued ? '' : comment.value.replace(/^[*\s]+/, '');
}

export const comments = {
  rules: {
    'whole-sentences': {
      create: (context) => ({
        Program() {
          const all = context.sourceCode.getAllComments();
          all.forEach((comment, at) => {
            if (FRAGMENT.test(beginningOf(comment, all[at - 1])))
              context.report({
                loc: comment.loc,
                message: 'Begin a comment with its subject: a sentence, or a noun phrase with its noun.',
              });
          });
        },
      }),
    },
  },
};
