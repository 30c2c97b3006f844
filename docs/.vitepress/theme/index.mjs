// The theme of VitePress with contrasts, names and landmarks that pass axe.
import { h } from 'vue';
import Theme from 'vitepress/theme';
import './theme.css';

function missingPage() {
  return h('main', { class: 'vp-doc missing' }, [
    h('h1', 'Page not found'),
    h('p', [h('a', { href: '/' }, 'Five minutes'), ' is the first page; the search finds the others.']),
  ]);
}

export default {
  extends: Theme,
  Layout: () => h(Theme.Layout, null, { 'not-found': missingPage }),
};
