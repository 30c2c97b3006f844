// Folders inside one app or library form no cycle. Tests are left out: they may reach into any folder of their library.
import layers from './dependency-cruiser.config.mjs';

export default {
  forbidden: [
    {
      name: 'no-folder-cycles',
      comment:
        'Two folders that import one another are one room: move what both need into a folder of its own, or take an interface.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(apps|libs)/([^/]+)/' },
      to: { circular: true, path: '^$1/$2/' },
    },
  ],
  options: {
    ...layers.options,
    exclude: { path: '(^|/)dist/|\\.(spec|long)\\.tsx?$|/testdata/' },
  },
};
