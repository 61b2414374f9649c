// What the bundler makes of imports that are not scripts, told to tsc.

declare module '*.css';

declare module '*.json' {
  const text: string;
  export default text;
}

/** The scenarios of src/lab/scenarios/shipped.txt; `load` gives the JSON text. */
declare module 'scenarios:catalogue' {
  export const catalogue: { id: string; title: string; load: () => Promise<string> }[];
}

declare module '*.md' {
  const text: string;
  export default text;
}

declare module '*.txt' {
  const text: string;
  export default text;
}

declare module '*.svg' {
  const dataUrl: string;
  export default dataUrl;
}

/** A stylesheet that takes effect when the script that imports it runs. */
declare module 'sheet:*';

/** Lines of the crate: `source:FILE#NAME` names what stands between the comments `ANCHOR: NAME` and `ANCHOR_END: NAME`. */
declare module 'source:*' {
  const code: { path: string; lines: [number, number]; load: () => Promise<string> };
  export default code;
}
