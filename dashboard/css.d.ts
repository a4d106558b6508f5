// Style sheets are bundled by tools/build.mjs.
declare module '*.css';
