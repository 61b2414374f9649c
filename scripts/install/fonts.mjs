import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { installLocked } from './npm.mjs';

const folder = join(root, 'tests', 'fonts');
const cache = join(root, 'target', 'fonts');

/** What readers may have: a family without serifs and a monospace one, each with the npm package that it comes in. */
const sets = {
  narrow: {
    sans: ['PT Sans Narrow', '@expo-google-fonts/pt-sans-narrow'],
    mono: ['Inconsolata', '@expo-google-fonts/inconsolata'],
  },
  wide: {
    sans: ['DejaVu Sans', 'dejavu-fonts-ttf'],
    mono: ['DejaVu Sans Mono', 'dejavu-fonts-ttf'],
  },
  'wide monospace': {
    sans: ['PT Sans Narrow', '@expo-google-fonts/pt-sans-narrow'],
    mono: ['Martian Mono', '@expo-google-fonts/martian-mono'],
  },
};
export const fontSets = Object.keys(sets);

/** The fonts that the tests of the page's looks need, from npm, because each system has others and some have none. */
export async function installFonts() {
  return (await installLocked(folder)) ? ['fonts for the tests'] : [];
}

/**
 * The environment in which a browser has these fonts and no others: a fontconfig file of its own.
 *
 * @param {string} set
 */
export async function fontEnv(set) {
  const { sans, mono } = sets[set];
  const file = join(cache, `${set.replaceAll(' ', '-')}.conf`);
  const dirs = [sans, mono].map(([, name]) => `<dir>${join(folder, 'node_modules', name)}</dir>`);
  // What nobody has becomes the first one, and what asks for a monospace font becomes the second one.
  await mkdir(cache, { recursive: true });
  await writeFile(
    file,
    `<?xml version="1.0"?>
     <fontconfig>
     ${dirs.join('\n')}
     <cachedir>${cache}</cachedir>
     <match target="pattern">
       <test name="family"><string>monospace</string></test>
       <edit name="family" mode="prepend" binding="strong"><string>${mono[0]}</string></edit>
     </match>
     <match target="pattern">
       <edit name="family" mode="append_last"><string>${sans[0]}</string></edit>
     </match>
     </fontconfig>`,
  );
  return { FONTCONFIG_FILE: file };
}
