// Lets xterm.js work under style-src 'self'. It adds <style> elements for its theme and style attributes for RGB colours, which the
// page's Content-Security-Policy forbids. While a terminal is shown, the text of style elements becomes constructed style sheets, and
// style attributes are set through the object model: both are allowed, since no markup is involved.
// The whole document is concerned: the option documentOverride of xterm.js 6.0 does not reach its scroll bar and its rows.

/** Returns the function that takes everything back. */
export function constructStyles(document: Document): () => void {
  const sheets: CSSStyleSheet[] = [];
  const create = Document.prototype.createElement;
  const createElement = (tag: string, options?: ElementCreationOptions): HTMLElement => {
    if (tag !== 'style') return withStyleAttribute(create.call(document, tag, options));
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    return standIn(create.call(document, 'span'), sheet);
  };
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
  return () => {
    if (document.createElement === createElement) Reflect.deleteProperty(document, 'createElement');
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => !sheets.includes(each));
  };
}

/** Instead of a <style> element: its text goes to the style sheet. */
function standIn(element: HTMLElement, sheet: CSSStyleSheet): HTMLElement {
  element.hidden = true;
  let text = '';
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (value: string) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  return element;
}

function withStyleAttribute(element: HTMLElement): HTMLElement {
  element.setAttribute = (name: string, value: string) => {
    if (name === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
  return element;
}
