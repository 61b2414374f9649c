/**
 * What the page and the parts that are loaded on demand have in common. Each of those parts imports all of it, so that the bundle
 * keeps it in one piece: cut up by who needs what, the first load would be larger and come in more files.
 */
import 'lit/directive.js';
import 'lit/html.js';
import '../store.js';
import '../custom-scenarios.js';
import './format.js';
import './glyph.js';
import './json.js';
import './menu.js';
