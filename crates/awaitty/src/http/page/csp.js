// Makes xterm.js work under the page's strict policy. Must be imported before it.

const nonce = document.querySelector('meta[name="nonce"]').content;
const createElement = document.createElement.bind(document);
const setAttribute = Element.prototype.setAttribute;

// The policy allows only <style> elements with the nonce of the response.
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (String(name).toLowerCase() === "style") element.nonce = nonce;
  return element;
};

// The policy forbids style attributes, but not setting them by the CSSOM. xterm.js uses them for true colours.
Element.prototype.setAttribute = function (name, value) {
  if (name === "style" && this.style) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};
