/**
 * How the site's search weighs words, for the index and for the page. VitePress writes these functions into the page as
 * text, so each stands alone.
 */
export const SEARCH = {
  options: {
    processTerm(term) {
      const stopWords =
        '|a|about|after|all|an|and|another|any|are|as|at|be|by|can|do|for|from|get|give|has|have|how|i|in|into|is|it|its|me|my|of|on|one|or|our|that|the|their|them|then|this|to|use|was|what|when|where|which|who|why|will|with|you|your|';
      const word = term.toLowerCase().replace(/['’]s$/, '');
      if (stopWords.includes(`|${word}|`)) return null;
      // a word and its plural are the same
      return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
    },
  },
  searchOptions: {
    fuzzy: 0.15,
    prefix: (term) => term.length > 3,
    boost: { title: 6, titles: 2, text: 1 },
    // a guide answers before a page of the reference lists
    boostDocument: (id) => (/\/reference\/(?!filter-language|langsmith)/.test(id) ? 0.4 : 1),
  },
};
