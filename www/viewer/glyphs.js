/** The glyphs of records and of the viewer’s own buttons. */
import { addGlyphs } from '../ui/glyph.js';

addGlyphs({
  less: 'M4 9.5l4-4 4 4',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  fit: 'M2.5 5.5v-3h3M13.5 5.5v-3h-3M2.5 10.5v3h3M13.5 10.5v3h-3',
  minus: 'M3.5 8h9',
  plus: 'M3.5 8h9M8 3.5v9',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  clock: 'M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3.2l2 1.3',
  run_start: 'M5 3v10l8-5z',
  llm_request: 'M8 2.2L13.8 8 8 13.8 2.2 8z',
  llm_call: 'M8 2.2L13.8 8 8 13.8 2.2 8z',
  llm_retry: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3',
  tool_retry: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3',
  approval: 'M2.5 3h11v7.5H8L5 13.5v-3H2.5zM5.6 6.8l1.7 1.6 3-3.2',
  denied: 'M2.5 3h11v7.5H8L5 13.5v-3H2.5zM6.2 5.2l3.6 3.4M9.8 5.2L6.2 8.6',
  tool_call: 'M2.5 8h11M9.5 4l4 4-4 4',
  tool_result: 'M13.5 8h-11M6.5 4l-4 4 4 4',
  replan: 'M2.5 12.5c5 0 3.5-8 10.5-8M10.3 1.8L13 4.5l-2.7 2.7',
  guard: 'M8 2l5 1.8v4C13 11 11 13 8 14.2 5 13 3 11 3 7.8v-4z',
  checkpoint: 'M4.2 2.5h7.6v11.2L8 10.6l-3.8 3.1z',
});
