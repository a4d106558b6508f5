// Lets xterm.js style itself under the page's Content-Security-Policy, which forbids inline styles: it writes its sheets into <style>
// elements, and colors of single cells into style attributes. Here the sheets become constructed ones and the attributes go through
// the CSSOM, which the policy allows, since only script of the page reaches either.
// tools/page-bundle.mjs puts it before xterm.js; nothing else of the page creates styles in these ways.

const createElement = document.createElement.bind(document);

document.createElement = (name: string, options?: ElementCreationOptions): HTMLElement =>
  name === 'style' ? constructedStyle() : createElement(name, options);

/** An element that holds its place in the tree, and whose text is a sheet of the document until it is removed. */
function constructedStyle(): HTMLElement {
  const element = createElement('template');
  const sheet = new CSSStyleSheet();
  const remove = element.remove.bind(element);
  let text = '';
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (next: string) => {
      text = next;
      sheet.replaceSync(next);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
  return element;
}

const setAttribute: (name: string, value: string) => void = Reflect.get(Element.prototype, 'setAttribute');

Element.prototype.setAttribute = function setAllowed(this: Element, name: string, value: string): void {
  if (name === 'style' && this instanceof HTMLElement) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};
