/**
 * What the page and the parts that are loaded on demand have in common. Each of those parts imports all of it, so that the bundle
 * keeps it in one file: split by which part uses what, the first load would be larger and consist of more files.
 */
import 'lit/directive.js';
import 'lit/html.js';
import '../store.js';
import '../custom-scenarios.js';
import './format.js';
import './glyph.js';
import './json.js';
import './menu.js';
