import js from '@eslint/js';
import globals from 'globals';

/** What the recommended rules leave out and has bitten other projects. */
const rules = {
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-constructor-return': 'error',
  'no-self-compare': 'error',
  'no-template-curly-in-string': 'error',
  'no-unreachable-loop': 'error',
  'no-unused-vars': [
    'error',
    {
      argsIgnorePattern: '^_',
      varsIgnorePattern: '^_',
      destructuredArrayIgnorePattern: '^_',
      caughtErrors: 'none',
    },
  ],
  'no-var': 'error',
  'array-callback-return': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

export default [
  { ignores: ['dist', 'pkg', 'target', '**/node_modules', 'www/pkg', 'www/study', 'screenshots'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  { rules },
  {
    files: ['www/**/*.js'],
    languageOptions: { globals: { ...globals.browser, ...globals.worker } },
  },
  { files: ['npm/**/*.js'], languageOptions: { globals: globals['shared-node-browser'] } },
  { files: ['scripts/**/*.mjs', 'eslint.config.js'], languageOptions: { globals: globals.node } },
  // Their functions are also sent to a page and run there.
  {
    files: ['scripts/{bench-*,screenshots,size}.mjs', 'tests/**/*.js'],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
];
