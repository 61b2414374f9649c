// What the bundler makes of imports that are not scripts, told to tsc.

declare module '*.css';

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
